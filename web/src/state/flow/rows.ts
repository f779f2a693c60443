/** From messages to the rows of the page: what is boxed, what is one line, what is left out at which level. */

import type { Block, Call, Message, Turn } from "@/api/types";
import type { Level } from "@/state/settings";

import type { Gap, Layout } from "./layout";

interface Common {
  /** Stays the same when windows come and go around it. */
  readonly key: string;
  readonly index: number;
  readonly uuid: string;
  readonly message: Message;
  /** Whether it stands in a sub-agent's conversation. */
  readonly nested: boolean;
}

export type ContentRow = Common &
  (
    | { readonly kind: "prompt" }
    | { readonly kind: "text"; readonly text: string; readonly truncated: boolean; readonly timed: boolean }
    | { readonly kind: "thinking"; readonly text: string; readonly truncated: boolean }
    | { readonly kind: "call"; readonly call: Call }
    | { readonly kind: "more"; readonly run: string; readonly calls: readonly Call[] }
    | { readonly kind: "stub"; readonly calls: readonly Call[] }
    | { readonly kind: "image"; readonly block: Extract<Block, { kind: "image" }> }
    | { readonly kind: "unknown"; readonly type: string; readonly json: unknown }
    | { readonly kind: "mark" }
    | { readonly kind: "compaction" }
    | { readonly kind: "summary" }
    | { readonly kind: "error" }
    | { readonly kind: "system" }
    | { readonly kind: "branch"; readonly run: string; readonly messages: number }
    | { readonly kind: "turn-end"; readonly turn: Turn }
  );

export type Row = ContentRow | { readonly kind: "gap"; readonly key: string; readonly gap: Gap };

export interface RowOptions {
  readonly level: Level;
  readonly turns: readonly Turn[];
  /** Runs of calls, and branches, that were opened. */
  readonly openRuns: ReadonlySet<string>;
}

/** The turn that a row stands in; null between turns, and where nothing is loaded. */
export function turnOf(row: Row | null): number | null {
  return row === null || row.kind === "gap" ? null : row.message.turn;
}

/** Runs of more calls than this are folded, so that what was said stays in sight. */
export const LONGEST_RUN = 8;
const SHOWN_OF_RUN = 6;

const PROMPTS = new Set(["prompt", "command", "queued", "waiting"]);
const SUMMARIES = new Set(["recap", "summary"]);

export function buildRows(layout: Layout, options: RowOptions): Row[] {
  const rows: Row[] = [];
  for (const part of layout) {
    if (part.kind === "gap") rows.push({ kind: "gap", key: `gap-${part.first}`, gap: part });
    else rows.push(...stretchRows(part.messages, options));
  }
  return rows;
}

function stretchRows(messages: readonly Message[], options: RowOptions): ContentRow[] {
  const rows: ContentRow[] = [];
  let turn: number | null = null;
  let clock = "";
  for (const message of messages) {
    const ended = message.turn !== turn && turn !== null ? options.turns[turn] : undefined;
    const last = rows.at(-1);
    if (ended && last && message.turn !== null) {
      rows.push({ ...common(last.message, "end"), kind: "turn-end", turn: ended });
    }
    turn = message.turn ?? turn;
    const minute = message.created_at?.slice(0, 16) ?? "";
    for (const row of messageRows(message, options.level, minute !== clock)) {
      if (row.kind === "text" && row.timed) clock = minute;
      rows.push(row);
    }
  }
  return foldRuns(options.level === "all" ? rows : foldBranches(rows, options.openRuns), options);
}

function common(message: Message, part: string | number): Common {
  return {
    key: `${message.index}-${part}`,
    index: message.index,
    uuid: message.uuid,
    message,
    nested: message.lane === "agent",
  };
}

function messageRows(message: Message, level: Level, timed: boolean): ContentRow[] {
  const base = (part: string | number = 0) => common(message, part);
  if (PROMPTS.has(message.rule)) return [{ ...base(), kind: "prompt" }];
  if (message.rule === "interruption") return [{ ...base(), kind: "mark" }];
  if (message.rule === "compaction") return [{ ...base(), kind: "compaction" }];
  if (SUMMARIES.has(message.rule)) return [{ ...base(), kind: "summary" }];
  if (message.category === "error") return [{ ...base(), kind: "error" }];
  if (message.rule === "answer" || message.rule === "lone-thinking") {
    return message.blocks.flatMap((block, part) =>
      blockRows(block, base(part), level, timed && part === firstText(message)),
    );
  }
  if (level === "prose") return [];
  if (message.rule === "unknown") {
    const [block] = message.blocks;
    return [
      {
        ...base(),
        kind: "unknown",
        type: message.type,
        json: block?.kind === "other" ? block.json : message.content,
      },
    ];
  }
  // How far a hook has come says nothing by itself; it is there for those who want all.
  if (level !== "all" && message.content === "" && message.category === "hook_progress") return [];
  return [{ ...base(), kind: "system" }];
}

function firstText(message: Message): number {
  return message.blocks.findIndex((block) => block.kind === "text");
}

function blockRows(block: Block, base: Common, level: Level, timed: boolean): ContentRow[] {
  switch (block.kind) {
    case "text":
      return block.text.trim()
        ? [{ ...base, kind: "text", text: block.text, truncated: block.truncated, timed }]
        : [];
    case "thinking":
      // Of redacted thinking only a signature was kept; there is nothing to read.
      return level === "prose" || !block.text.trim()
        ? []
        : [{ ...base, kind: "thinking", text: block.text, truncated: block.truncated }];
    case "call":
      return [{ ...base, kind: "call", call: block.call }];
    case "image":
      return [{ ...base, kind: "image", block }];
    case "other":
      return level === "prose" ? [] : [{ ...base, kind: "unknown", type: block.type, json: block.json }];
  }
}

/** What another branch holds is told in one line that can be opened; what a conversation begins with is not folded. */
function foldBranches(rows: readonly ContentRow[], open: ReadonlySet<string>): ContentRow[] {
  const folded: ContentRow[] = [];
  for (let at = 0; at < rows.length;) {
    const aside = takeWhile(rows, at, (row) => !row.message.active);
    const [head] = aside;
    if (!head) {
      const next = takeWhile(rows, at, (row) => row.message.active);
      folded.push(...next);
      at += next.length;
      continue;
    }
    at += aside.length;
    const run = `${head.index}-branch`;
    if (head.index === 0 || open.has(run)) folded.push(...aside);
    else {
      const messages = new Set(aside.map((row) => row.index)).size;
      folded.push({ ...common(head.message, "branch"), kind: "branch", run, messages });
    }
  }
  return folded;
}

function takeWhile(
  rows: readonly ContentRow[],
  from: number,
  fits: (row: ContentRow) => boolean,
): readonly ContentRow[] {
  const end = rows.findIndex((row, at) => at >= from && !fits(row));
  return rows.slice(from, end < 0 ? rows.length : end);
}

function foldRuns(rows: readonly ContentRow[], { level, openRuns }: RowOptions): ContentRow[] {
  const folded: ContentRow[] = [];
  for (let at = 0; at < rows.length;) {
    const run = takeRun(rows, at);
    const head = run[0];
    if (!head) {
      const row = rows[at];
      if (row) folded.push(row);
      at += 1;
      continue;
    }
    at += run.length;
    const calls = run.map((row) => row.call);
    if (level === "prose") {
      folded.push({
        ...common(head.message, `${head.key}-stub`),
        key: `${head.key}-stub`,
        kind: "stub",
        calls,
      });
    } else if (run.length > LONGEST_RUN && !openRuns.has(head.key)) {
      const hidden = run.slice(SHOWN_OF_RUN);
      const first = hidden[0] ?? head;
      folded.push(...run.slice(0, SHOWN_OF_RUN), {
        ...common(first.message, ""),
        key: `${head.key}-more`,
        kind: "more",
        run: head.key,
        calls: hidden.map((row) => row.call),
      });
    } else {
      folded.push(...run);
    }
  }
  return folded;
}

type CallRow = Extract<ContentRow, { kind: "call" }>;

function takeRun(rows: readonly ContentRow[], from: number): CallRow[] {
  const run: CallRow[] = [];
  for (let at = from; at < rows.length; at += 1) {
    const row = rows[at];
    if (row?.kind !== "call" || (run[0] && run[0].nested !== row.nested)) break;
    run.push(row);
  }
  return run;
}
