/** Keys of a conversation. */

import { useMemo } from "react";
import type { RefObject } from "react";

import type { Message, Turn } from "@/api/types";
import { SHARED } from "@/lib/routes";
import type { Store } from "@/lib/store";
import { callMarkdown, messageMarkdown } from "@/state/flow/as-markdown";
import { open, toggle } from "@/state/flow/folds";
import type { Folds } from "@/state/flow/folds";
import { foldKey } from "@/state/flow/rows";
import type { ContentRow, Row } from "@/state/flow/rows";
import type { Binding } from "@/state/keys";
import { level } from "@/state/settings";
import { useKeys } from "@/state/use-keys";

import type { FlowHandle } from "./flow-view";
import { linkTo } from "./tools";

export interface KeyOptions {
  readonly session: string;
  readonly rows: readonly Row[];
  readonly turns: readonly Turn[];
  /** The row at the top of what is seen. */
  readonly passed: Store<Row | null>;
  readonly current: string | null;
  readonly setCurrent: (key: string) => void;
  readonly goTo: (target: string | number | null) => unknown;
  readonly handle: RefObject<FlowHandle | null>;
  readonly folds: Folds;
  readonly runs: Folds;
  readonly copy: (what: string, text: string) => void;
  readonly copyTurn: (turn: Turn) => void;
  readonly choose: (fork: number, branch: number) => void;
  readonly showRaw: (message: Message) => void;
  readonly onExport: () => void;
  readonly onShare: () => void;
  /** Whether there is anybody to share it with. */
  readonly mayShare: boolean;
  readonly onFind: () => void;
  readonly onSidechain: () => void;
  readonly onFailed: () => void;
  /** Backs out one step. */
  readonly onBack: () => void;
}

const FOLDING = new Set<Row["kind"]>(["call", "thinking", "summary", "system", "unknown"]);
const SKIPPED = new Set<Row["kind"]>(["gap", "turn-end", "hooks", "notes"]);

export function useConversationKeys(options: KeyOptions): void {
  const { session, rows, turns, passed, current, setCurrent, goTo, handle, folds, runs } = options;
  const {
    copy,
    copyTurn,
    choose,
    showRaw,
    onExport,
    onShare,
    mayShare,
    onFind,
    onSidechain,
    onFailed,
    onBack,
  } = options;
  const table = useMemo<readonly Binding[]>(() => {
    const at = rows.findIndex((row) => row.key === current);
    const chosen = rows[at];
    // Who has scrolled away from the chosen row goes on from where they look.
    const isSeen = () => at >= 0 && (handle.current?.isSeen(at) ?? false);
    const here = () => (isSeen() && chosen ? chosen : passed.get());
    const pick = (to: number) => {
      const row = rows[to];
      if (!row) return;
      setCurrent(row.key);
      handle.current?.scrollTo(to, "auto");
    };
    const move = (step: 1 | -1) => () => {
      let to = isSeen() ? at + step : rows.findIndex((row) => row === passed.get());
      while (rows[to] && SKIPPED.has(rows[to]?.kind ?? "gap")) to += step;
      pick(to);
    };
    const moveTurn = (step: 1 | -1) => () => {
      const target = turns[Math.min(Math.max(turnAt(here(), turns) + step, 0), turns.length - 1)];
      if (target) void goTo(target.prompt_uuid);
    };
    const moveTool = (step: 1 | -1) => () => {
      pick(findTool(rows, at, step));
    };
    const onRow = (run: (row: ContentRow) => void) => () => {
      const row = here();
      if (row && row.kind !== "gap") run(row);
    };
    return [
      { keys: "j", label: "next message", group: "message", hinted: true, run: move(1) },
      { keys: "k", label: "previous message", group: "message", hinted: true, run: move(-1) },
      { keys: "J", label: "next turn", group: "turn", hinted: true, run: moveTurn(1) },
      { keys: "K", label: "previous turn", group: "turn", hinted: true, run: moveTurn(-1) },
      {
        keys: "o",
        label: "open or fold",
        group: "open",
        hinted: true,
        run: () => {
          if (chosen?.kind === "more" || chosen?.kind === "branch") toggle(runs, chosen.run);
          else if (chosen && chosen.kind !== "gap" && FOLDING.has(chosen.kind)) toggle(folds, foldKey(chosen));
        },
      },
      {
        keys: "O",
        label: "open all in this turn",
        run: () => {
          openTurn(rows, here(), folds, runs);
        },
      },
      ...(["prose", "calls", "all"] as const).map((value, n) => ({
        keys: String(n + 1),
        label: `show ${value}`,
        group: "prose, calls, all",
        hinted: true,
        run: () => {
          level.set(value);
        },
      })),
      { keys: "[", label: "same tool before", run: moveTool(-1) },
      { keys: "]", label: "same tool after", run: moveTool(1) },
      {
        keys: "b",
        label: "next branch",
        group: "branch",
        hinted: true,
        run: () => {
          nextBranch(rows, here(), choose);
        },
      },
      ...(SHARED
        ? []
        : [{ keys: "f", label: "find in this conversation", group: "find", hinted: true, run: onFind }]),
      { keys: "s", label: "show or hide the sidechain", group: "sidechain", hinted: true, run: onSidechain },
      { keys: "!", label: "failed operations only", run: onFailed },
      {
        keys: "e",
        label: "go to the end, and follow it",
        group: "end",
        hinted: true,
        run: () => handle.current?.scrollToEnd(),
      },
      {
        keys: "y",
        label: "copy as Markdown",
        group: "copy",
        hinted: true,
        run: onRow((row) => {
          if (row.kind === "turn-end") copyTurn(row.turn);
          else copy("Markdown", row.kind === "call" ? callMarkdown(row.call) : messageMarkdown(row.message));
        }),
      },
      {
        keys: "Y",
        label: "copy a link to it",
        run: onRow((row) => {
          copy("Link", linkTo(session, row.message, row.kind === "call" ? row.call : null));
        }),
      },
      ...(SHARED
        ? []
        : [
            {
              keys: "r",
              label: "raw lines",
              run: onRow((row) => {
                showRaw(row.message);
              }),
            },
            { keys: "x", label: "export it", run: onExport },
          ]),
      ...(mayShare ? [{ keys: "S", label: "share it", run: onShare }] : []),
      { keys: "Escape", label: "back out one step", run: onBack },
    ];
  }, [
    session,
    rows,
    turns,
    passed,
    current,
    setCurrent,
    goTo,
    handle,
    folds,
    runs,
    copy,
    copyTurn,
    choose,
    showRaw,
    onExport,
    onShare,
    mayShare,
    onFind,
    onSidechain,
    onFailed,
    onBack,
  ]);
  useKeys(table);
}

/** The turn that a row stands in; before the first one, -1. */
function turnAt(row: Row | null, turns: readonly Turn[]): number {
  if (!row) return -1;
  const index = row.kind === "gap" ? row.gap.first : row.index;
  return turns.findLastIndex((turn) => turn.prompt <= index);
}

/** The next call of the same tool, of those that are loaded. */
function findTool(rows: readonly Row[], from: number, step: 1 | -1): number {
  const start = rows[from];
  const name = start?.kind === "call" ? start.call.name : null;
  for (let at = from + step; at >= 0 && at < rows.length; at += step) {
    const row = rows[at];
    if (row?.kind === "call" && (name === null || row.call.name === name)) return at;
  }
  return -1;
}

function openTurn(rows: readonly Row[], here: Row | null, folds: Folds, runs: Folds): void {
  if (!here || here.kind === "gap") return;
  const own = rows.filter((row) => row.kind !== "gap" && row.message.turn === here.message.turn);
  open(runs, ...own.flatMap((row) => (row.kind === "more" ? [row.run] : [])));
  open(folds, ...own.flatMap((row) => (row.kind !== "gap" && FOLDING.has(row.kind) ? [foldKey(row)] : [])));
}

/** The next way at the fork that one is behind, round and round. */
function nextBranch(
  rows: readonly Row[],
  here: Row | null,
  choose: (fork: number, branch: number) => void,
): void {
  const index = here && here.kind !== "gap" ? here.index : 0;
  const forks = rows.flatMap((row) => (row.kind === "prompt" && row.fork ? [row] : []));
  const fork = (forks.findLast((row) => row.index <= index) ?? forks[0])?.fork;
  if (!fork) return;
  const at = fork.branches.findIndex((branch) => branch.index === fork.shown);
  const next = fork.branches[(at + 1) % fork.branches.length];
  if (next) choose(fork.at, next.index);
}
