/** The row that keys act on, what is selected, and what is open over the list. */

import { useMemo, useState } from "react";
import { useLocation } from "wouter";

import type { SessionItem } from "@/api/types";
import { sessionPath } from "@/lib/routes";
import type { Binding } from "@/state/keys";
import { toggled } from "@/state/session-rows";
import { useKeys } from "@/state/use-keys";

import { TITLE_FIELD } from "./facets";

const NONE: ReadonlySet<string> = new Set();

export function useListKeys(
  sessions: readonly SessionItem[],
  star: (session: SessionItem) => void,
  toggleGroup: (session: SessionItem) => void,
) {
  const [current, setCurrent] = useState<string | null>(null);
  const [selected, select] = useState<ReadonlySet<string>>(NONE);
  const [tagging, setTagging] = useState(false);
  const [exporting, setExporting] = useState(false);
  const [sharing, setSharing] = useState(false);
  const [drawn, setDrawn] = useState(false);
  const [peeking, setPeeking] = useState(false);
  const [, navigate] = useLocation();
  const at = sessions.findIndex((session) => session.key === current);
  const chosen = sessions[at];
  const table = useMemo<readonly Binding[]>(() => {
    const move = (to: number) => () => {
      const next = sessions[Math.min(Math.max(to, 0), sessions.length - 1)];
      if (next) setCurrent(next.key);
    };
    const withChosen = (act: (session: SessionItem) => void) => () => {
      if (chosen) act(chosen);
    };
    return [
      { keys: "j", label: "next session", group: "move", hinted: true, run: move(at + 1) },
      { keys: "k", label: "previous session", group: "move", hinted: true, run: move(at < 0 ? 0 : at - 1) },
      {
        keys: "Enter",
        label: "open",
        hinted: true,
        run: withChosen((session) => {
          navigate(sessionPath(session.key));
        }),
      },
      {
        keys: "o",
        label: "open",
        run: withChosen((session) => {
          navigate(sessionPath(session.key));
        }),
      },
      {
        keys: " ",
        label: "peek",
        hinted: true,
        run: withChosen(() => {
          setPeeking((open) => !open);
        }),
      },
      { keys: "s", label: "star", hinted: true, run: withChosen(star) },
      {
        keys: "t",
        label: "tag",
        hinted: true,
        run: () => {
          if (chosen || selected.size > 0) setTagging(true);
        },
      },
      {
        keys: "x",
        label: "select",
        hinted: true,
        run: withChosen((session) => {
          select((before) => toggled(before, session.key));
        }),
      },
      { keys: "e", label: "sessions like this", run: withChosen(toggleGroup) },
      { keys: "f", label: "find by title", run: () => document.getElementById(TITLE_FIELD)?.focus() },
      {
        keys: "Escape",
        label: "back out one step",
        run: () => {
          if (peeking) setPeeking(false);
          else if (drawn) setDrawn(false);
          else if (selected.size > 0) select(NONE);
          else setCurrent(null);
        },
      },
    ];
  }, [sessions, at, chosen, selected, peeking, drawn, navigate, star, toggleGroup]);
  useKeys(table);
  const marked = useMemo(
    () =>
      selected.size > 0 ? sessions.filter((session) => selected.has(session.key)) : chosen ? [chosen] : [],
    [sessions, selected, chosen],
  );
  return {
    current,
    selected,
    clear: () => {
      select(NONE);
    },
    /** Those that are selected, else the one that keys act on. */
    marked,
    tagging,
    setTagging,
    exporting,
    setExporting,
    sharing,
    setSharing,
    /** Whether the filters are drawn over the list. */
    drawn,
    toggleDrawn: () => {
      setDrawn((now) => !now);
    },
    peeked: peeking ? chosen : undefined,
    closePeek: () => {
      setPeeking(false);
    },
  };
}
