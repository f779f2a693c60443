/** The query: in the field as one types, in the address as soon as it settles, and its hits. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearch as useQueryString } from "wouter";

import { searchQuery } from "@/api/search";
import { parseSearch, searchPath } from "@/lib/routes";
import type { SearchOrder, SearchState } from "@/lib/routes";
import { groupHits } from "@/state/hit-groups";
import { askedOf, liftFinished, readField } from "@/state/query";
import type { FieldState } from "@/state/query";

const TYPING_MS = 90;
const SETTLE_MS = 300;

export function useField() {
  const asked = parseSearch(useQueryString());
  const [, navigate] = useLocation();
  const [field, setField] = useState<FieldState>(() => readField(asked.text));
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const written = useRef(asked.text);

  // The address is the truth: going back brings the query of then.
  useEffect(() => {
    if (asked.text === written.current) return;
    written.current = asked.text;
    clearTimeout(timer.current);
    setField(readField(asked.text));
  }, [asked.text]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [],
  );

  const go = useCallback(
    (next: SearchState, replace: boolean) => {
      clearTimeout(timer.current);
      written.current = next.text;
      navigate(searchPath(next), { replace });
    },
    [navigate],
  );
  const { order } = asked;
  /** What was typed goes to the address when one pauses; it replaces what stood there. */
  const type = useCallback(
    (state: FieldState) => {
      const next = liftFinished(state);
      setField(next);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        go({ text: askedOf(next), order }, true);
      }, TYPING_MS);
    },
    [go, order],
  );
  /** What was chosen is a step of its own, which back undoes. */
  const choose = useCallback(
    (state: FieldState) => {
      setField(state);
      go({ text: askedOf(state), order }, false);
    },
    [go, order],
  );
  const setOrder = useCallback(
    (next: SearchOrder) => {
      go({ text: askedOf(field), order: next }, false);
    },
    [go, field],
  );
  return { asked, field, type, choose, setOrder };
}

/** Which hit is looked at. It is in the address a moment later: whoever holds a key down passes many. */
export function useHitNumber(asked: SearchState): readonly [number, (hit: number) => void] {
  const [, navigate] = useLocation();
  const { text, order, hit = 0 } = asked;
  const [shown, setShown] = useState({ text, order, hit, known: hit });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // Another query begins with its own first hit; and back leads to the hit of then.
  if (shown.text !== text || shown.order !== order || shown.known !== hit) {
    setShown({ text, order, hit, known: hit });
  }
  useEffect(() => {
    if (shown.hit === hit) return;
    timer.current = setTimeout(() => {
      navigate(searchPath({ text, order, hit: shown.hit }), { replace: true });
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer.current);
    };
  }, [shown.hit, hit, text, order, navigate]);
  const look = useCallback((next: number) => {
    setShown((before) => ({ ...before, hit: next }));
  }, []);
  return [shown.hit, look];
}

export function useHits({ text, order }: SearchState) {
  const query = useInfiniteQuery(searchQuery({ text, order }));
  const pages = text.trim() === "" ? undefined : query.data?.pages;
  const groups = useMemo(() => groupHits(pages ?? []), [pages]);
  const hits = useMemo(() => groups.flatMap((group) => group.hits.map(({ hit }) => hit)), [groups]);
  return {
    ...query,
    groups,
    hits,
    complete: query.isSuccess && !query.hasNextPage && !query.isPlaceholderData,
  };
}
