/** Where the address points to, and which row keys act on. */

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { RefObject } from "react";
import { useLocation } from "wouter";

import { connection } from "@/api/connection";
import { ApiError } from "@/api/errors";
import { sessionPath } from "@/lib/routes";
import type { Flow } from "@/state/flow/flow";
import type { Row } from "@/state/flow/rows";

import type { FlowHandle } from "./flow-view";

/** What keys act on: a row, or the first row of a message that was gone to. */
type At = { readonly key: string } | { readonly message: number };

export function useTarget(
  message: string | null,
  flow: Flow,
  rows: readonly Row[],
  handle: RefObject<FlowHandle | null>,
) {
  const [at, setAt] = useState<At | null>(null);
  const [missing, setMissing] = useState(false);
  const scrolled = useRef<At | null>(null);
  const goTo = useCallback(
    (target: string | number | null) => {
      void flow.open(target).then((found) => {
        setMissing(target !== null && found === null && flow.state.get().error instanceof ApiError);
        if (target === null) return;
        if (found) setAt({ message: found.index });
        else void flow.open(null);
      });
    },
    [flow],
  );
  useEffect(() => {
    goTo(message);
  }, [message, goTo]);
  useEffect(
    () =>
      connection.subscribe(() => {
        if (connection.get() !== "ok") return;
        const unread = flow.state.get().layout.length === 0;
        flow.forgive();
        if (unread) goTo(message);
      }),
    [flow, message, goTo],
  );

  const row = useMemo(() => (at === null ? -1 : findRow(rows, at)), [rows, at]);
  // Loading and drawing come one after the other: the row is there one render after its message.
  useLayoutEffect(() => {
    if (at === null || !("message" in at) || row < 0 || scrolled.current === at) return;
    scrolled.current = at;
    handle.current?.scrollTo(row, "start");
  }, [at, row, handle]);
  const setCurrent = useCallback((key: string) => {
    setAt({ key });
  }, []);
  return { current: rows[row]?.key ?? null, setCurrent, goTo, missing };
}

function findRow(rows: readonly Row[], at: At): number {
  if ("key" in at) return rows.findIndex((row) => row.key === at.key);
  const exact = rows.findIndex((row) => row.kind !== "gap" && row.index === at.message);
  if (exact >= 0) return exact;
  // It stands among folded calls, or is not shown at this level: what is shown before it is next to it.
  return rows.findLastIndex((row) => row.kind !== "gap" && row.index < at.message);
}

/** `#m=uuid` is the short form of a message's address. */
export function useHashLink(session: string): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    const follow = () => {
      const uuid = new URLSearchParams(window.location.hash.slice(1)).get("m");
      if (uuid) navigate(sessionPath(session, uuid), { replace: true });
    };
    follow();
    window.addEventListener("hashchange", follow);
    return () => {
      window.removeEventListener("hashchange", follow);
    };
  }, [session, navigate]);
}
