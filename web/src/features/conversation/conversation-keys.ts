/** Keys of a conversation. */

import { useMemo } from "react";
import type { RefObject } from "react";
import { useLocation } from "wouter";

import type { Turn } from "@/api/types";
import type { Store } from "@/lib/store";
import { toggle } from "@/state/flow/folds";
import type { Folds } from "@/state/flow/folds";
import type { ContentRow, Row } from "@/state/flow/rows";
import type { Binding } from "@/state/keys";
import { level } from "@/state/settings";
import { useKeys } from "@/state/use-keys";

import type { FlowHandle } from "./flow-view";
import { copyText, linkTo } from "./tools";

interface KeyOptions {
  readonly session: string;
  readonly rows: readonly Row[];
  readonly turns: readonly Turn[];
  /** The row at the top of what is seen. */
  readonly passed: Store<Row | null>;
  readonly current: string | null;
  readonly setCurrent: (key: string) => void;
  readonly goTo: (target: string | number) => void;
  readonly handle: RefObject<FlowHandle | null>;
  readonly folds: Folds;
  readonly runs: Folds;
  readonly announce: (text: string) => void;
}

const FOLDING = new Set<Row["kind"]>(["call", "thinking", "summary", "system", "unknown"]);
const SKIPPED = new Set<Row["kind"]>(["gap", "turn-end"]);

export function useConversationKeys(options: KeyOptions): void {
  const { session, rows, turns, passed, current, setCurrent, goTo, handle, folds, runs, announce } = options;
  const [, navigate] = useLocation();
  const table = useMemo<readonly Binding[]>(() => {
    const at = rows.findIndex((row) => row.key === current);
    const chosen = rows[at];
    // Who has scrolled away from the chosen row goes on from where they look.
    const isSeen = () => at >= 0 && (handle.current?.isSeen(at) ?? false);
    const move = (step: 1 | -1) => () => {
      let to = isSeen() ? at + step : rows.findIndex((row) => row === passed.get());
      let next = rows[to];
      while (next && SKIPPED.has(next.kind)) {
        to += step;
        next = rows[to];
      }
      if (!next) return;
      setCurrent(next.key);
      handle.current?.scrollTo(to, "auto");
    };
    const moveTurn = (step: 1 | -1) => () => {
      const turn = turnAt(isSeen() && chosen ? chosen : passed.get(), turns);
      const target = turns[Math.min(Math.max(turn + step, 0), turns.length - 1)];
      if (target) goTo(target.prompt_uuid);
    };
    const open = () => {
      if (chosen?.kind === "more" || chosen?.kind === "branch") toggle(runs, chosen.run);
      else if (chosen && FOLDING.has(chosen.kind)) toggle(folds, chosen.key);
    };
    const copy = (what: string, text: (row: ContentRow) => string) => () => {
      if (!chosen || chosen.kind === "gap") return;
      void copyText(text(chosen)).then((done) => {
        announce(done ? `${what} copied` : "The browser did not allow copying");
      });
    };
    return [
      { keys: "j", label: "next message", group: "message", hinted: true, run: move(1) },
      { keys: "k", label: "message before", group: "message", hinted: true, run: move(-1) },
      { keys: "J", label: "next turn", group: "turn", hinted: true, run: moveTurn(1) },
      { keys: "K", label: "turn before", group: "turn", hinted: true, run: moveTurn(-1) },
      { keys: "o", label: "open or fold", group: "open", hinted: true, run: open },
      ...(["prose", "calls", "all"] as const).map((value, n) => ({
        keys: String(n + 1),
        label: `show ${value}`,
        group: "prose, calls, all",
        hinted: true,
        run: () => {
          level.set(value);
        },
      })),
      {
        keys: "e",
        label: "go to the end",
        group: "end",
        hinted: true,
        run: () => handle.current?.scrollToEnd(),
      },
      {
        keys: "y",
        label: "copy as Markdown",
        group: "copy",
        hinted: true,
        run: copy("Markdown", (row) => row.message.content),
      },
      { keys: "Y", label: "copy a link to it", run: copy("Link", (row) => linkTo(session, row.uuid)) },
      {
        keys: "Escape",
        label: "back to the list",
        run: () => {
          navigate("/sessions");
        },
      },
    ];
  }, [session, rows, turns, passed, current, setCurrent, goTo, handle, folds, runs, announce, navigate]);
  useKeys(table);
}

/** The turn that a row stands in; before the first one, -1. */
function turnAt(row: Row | null, turns: readonly Turn[]): number {
  if (!row) return -1;
  const index = row.kind === "gap" ? row.gap.first : row.index;
  return turns.findLastIndex((turn) => turn.prompt <= index);
}
