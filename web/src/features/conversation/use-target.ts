/** Where the address points to, and which row keys act on. */

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { RefObject } from "react";
import { useLocation } from "wouter";

import { connection } from "@/api/connection";
import { ApiError } from "@/api/errors";
import type { Message } from "@/api/types";
import { sessionPath } from "@/lib/routes";
import type { Flow } from "@/state/flow/flow";
import { open } from "@/state/flow/folds";
import type { Folds } from "@/state/flow/folds";
import type { Row } from "@/state/flow/rows";
import { level } from "@/state/settings";

import type { FlowHandle } from "./flow-view";

/** What keys act on: a row, or the first row of a message that was gone to, or that of one of its calls. */
type At = { readonly key: string } | { readonly message: number; readonly call: number | null };

interface TargetOptions {
  readonly flow: Flow;
  readonly rows: readonly Row[];
  readonly runs: Folds;
  readonly handle: RefObject<FlowHandle | null>;
  /** Told what was found, before it is shown: another branch may have to be chosen, a call to be opened. */
  readonly onFound: (message: Message, call: number | null) => void;
}

export function useTarget({ flow, rows, runs, handle, onFound }: TargetOptions) {
  const [at, setAt] = useState<At | null>(null);
  const [missing, setMissing] = useState(false);
  const scrolled = useRef<At | null>(null);
  const asked = useRef(0);
  const found = useRef(onFound);
  useEffect(() => {
    found.current = onFound;
  });
  const goTo = useCallback(
    async (target: string | number | null, call: number | null = null): Promise<boolean> => {
      const own = ++asked.current;
      const message = await flow.open(target);
      // Somebody has asked for another place meanwhile: that one counts.
      if (own !== asked.current) return false;
      setMissing(target !== null && message === null && flow.state.get().error instanceof ApiError);
      if (target === null) return true;
      if (message) {
        if (call !== null && level.get() === "prose") level.set("calls");
        found.current(message, call);
        setAt({ message: message.index, call });
      } else void flow.open(null);
      return message !== null;
    },
    [flow],
  );
  const row = useMemo(() => (at === null ? -1 : findRow(rows, at)), [rows, at]);
  // Loading and drawing come one after the other: the row is there one render after its message.
  useLayoutEffect(() => {
    if (at === null || !("message" in at) || row < 0 || scrolled.current === at || !handle.current) return;
    const shown = rows[row];
    if (shown?.kind === "more" && at.call !== null) {
      open(runs, shown.run);
      return;
    }
    scrolled.current = at;
    handle.current.scrollTo(row, "start");
  }, [at, row, rows, runs, handle]);
  const setCurrent = useCallback((key: string) => {
    setAt({ key });
  }, []);
  return { current: rows[row]?.key ?? null, setCurrent, goTo, missing };
}

function findRow(rows: readonly Row[], at: At): number {
  if ("key" in at) return rows.findIndex((row) => row.key === at.key);
  const { message, call } = at;
  if (call !== null) {
    const own = rows.findIndex(
      (row) => row.kind === "call" && row.call.index === call && row.index === message,
    );
    if (own >= 0) return own;
    const folded = rows.findIndex(
      (row) => row.kind === "more" && row.calls.some((each) => each.index === call && each.message === message),
    );
    if (folded >= 0) return folded;
  }
  const exact = rows.findIndex((row) => row.kind !== "gap" && row.index === message && !isBeside(row));
  if (exact >= 0) return exact;
  // It stands among folded calls, or is not shown at this level: what is shown before it is next to it.
  return rows.findLastIndex((row) => row.kind !== "gap" && row.index < message);
}

/** What stands before or behind a message, and is not part of it. */
function isBeside(row: Row): boolean {
  return (
    row.kind === "turn-end" ||
    row.kind === "hooks" ||
    row.kind === "notes" ||
    (row.kind === "mark" && row.change !== null)
  );
}

/** Whenever the server is back, what could not be read is asked for again. */
export function useRetry(flow: Flow, retry: () => void): void {
  const again = useRef(retry);
  useEffect(() => {
    again.current = retry;
  });
  useEffect(
    () =>
      connection.subscribe(() => {
        if (connection.get() !== "ok") return;
        const unread = flow.state.get().layout.length === 0;
        flow.forgive();
        if (unread) again.current();
      }),
    [flow],
  );
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
