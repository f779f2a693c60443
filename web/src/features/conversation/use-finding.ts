/** What is looked for in a conversation stands in its address: a step of its own, back and forward. */

import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

import { findQueryOf, parseFind } from "@/lib/routes";

export interface Finding {
  /** Null: nothing is looked for. */
  readonly text: string | null;
  readonly open: () => void;
  readonly change: (text: string) => void;
  readonly close: () => void;
}

/** Marks the step that opening it was, which closing takes back. */
const OPENED = { finding: true };

export function useFinding(): Finding {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const text = parseFind(search);
  const open = useCallback(() => {
    if (text === null) navigate(path + findQueryOf(search, ""), { state: OPENED });
  }, [text, path, search, navigate]);
  const change = useCallback(
    (next: string) => {
      if (next !== text)
        navigate(path + findQueryOf(search, next), { replace: true, state: window.history.state as unknown });
    },
    [text, path, search, navigate],
  );
  const close = useCallback(() => {
    if (wasOpened(window.history.state)) window.history.back();
    else navigate(path + findQueryOf(search, null), { replace: true });
  }, [path, search, navigate]);
  return useMemo(() => ({ text, open, change, close }), [text, open, change, close]);
}

function wasOpened(state: unknown): boolean {
  return typeof state === "object" && state !== null && "finding" in state;
}
