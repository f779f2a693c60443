/** From messages to the rows of the page: what is boxed, what is one line, what is left out at which level. */

import type { Block, Call, HookItem, Message, NoteItem, Turn } from "@/api/types";
import type { Level } from "@/state/settings";

import type { Fork, Ways } from "./branches";
import { Changes } from "./changes";
import type { Change } from "./changes";
import { placeHooks } from "./hooks";
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
    | { readonly kind: "prompt"; readonly fork: Fork | null }
    | { readonly kind: "text"; readonly text: string; readonly truncated: boolean; readonly timed: boolean }
    | { readonly kind: "thinking"; readonly text: string; readonly truncated: boolean }
    | { readonly kind: "call"; readonly call: Call }
    | { readonly kind: "more"; readonly run: string; readonly calls: readonly Call[] }
    | { readonly kind: "stub"; readonly calls: readonly Call[] }
    | { readonly kind: "image"; readonly block: Extract<Block, { kind: "image" }> }
    | { readonly kind: "unknown"; readonly type: string; readonly json: unknown }
    | { readonly kind: "hooks"; readonly hooks: readonly HookItem[] }
    | { readonly kind: "notes"; readonly notes: readonly NoteItem[] }
    | { readonly kind: "mark"; readonly change: Change | null }
    | {
        readonly kind: "compaction";
        readonly step: Step;
        readonly before: number | null;
        readonly after: number | null;
      }
    | { readonly kind: "summary" }
    | { readonly kind: "error" }
    | { readonly kind: "system" }
    | { readonly kind: "branch"; readonly run: string; readonly messages: number }
    | { readonly kind: "turn-end"; readonly turn: Turn }
  );

/** How far a compaction, or its undoing, has come. */
export type Step = NonNullable<Message["compaction"]>["state"];

export type Row = ContentRow | { readonly kind: "gap"; readonly key: string; readonly gap: Gap };

export interface RowOptions {
  readonly level: Level;
  readonly turns: readonly Turn[];
  /** Runs of calls, and branches, that were opened. */
  readonly openRuns: ReadonlySet<string>;
  readonly ways?: Ways | null;
  readonly hooks?: ReadonlyMap<number, readonly HookItem[]>;
  readonly notes?: ReadonlyMap<number, readonly NoteItem[]>;
  /** The message that was asked for by its address or a search: it is shown also if it is metadata. */
  readonly asked?: number | string | null;
  /** Sub-agents that speak in this file, and are opened in the calls that started them. */
  readonly placed?: ReadonlySet<string>;
  /** Before the keys of rows, where several files are shown at once. */
  readonly scope?: string;
}

/** Under which key it is kept whether a row is open. A call has one wherever it is shown. */
export function foldKey(row: ContentRow): string {
  return row.kind === "call" ? callKey(row.call) : row.key;
}

export function callKey(call: Pick<Call, "source" | "index">): string {
  return `call-${call.source}-${call.index}`;
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
  const { scope = "", level } = options;
  let turn: number | null = null;
  let clock = "";
  const changes = new Changes();
  for (const message of messages) {
    if (!isShown(message, options)) continue;
    const ended = message.turn !== turn && turn !== null ? options.turns[turn] : undefined;
    const last = rows.at(-1);
    if (ended && last && message.turn !== null) {
      rows.push({ ...common(last.message, "end", scope), kind: "turn-end", turn: ended });
    }
    turn = message.turn ?? turn;
    for (const change of changes.take(message)) {
      rows.push({ ...common(message, change.of, scope), kind: "mark", change });
    }
    const minute = message.created_at?.slice(0, 16) ?? "";
    const own = messageRows(message, options, minute !== clock);
    if (own.some((row) => row.kind === "text" && row.timed)) clock = minute;
    const hooks = level === "prose" ? undefined : options.hooks?.get(message.index);
    rows.push(...(hooks ? placeHooks(own, hooks, (part) => common(message, `hooks-${part}`, scope)) : own));
    const notes = options.notes?.get(message.index)?.filter((note) => isNoted(note, level)) ?? [];
    if (notes.length > 0) rows.push({ ...common(message, "notes", scope), kind: "notes", notes });
  }
  return foldRuns(foldBranches(weigh(joinSteps(rows)), options), options);
}

/** How long a turn took stands at its end, and what was queued where it was delivered; at level All, here too. */
function isNoted({ category }: NoteItem, level: Level): boolean {
  return level === "all" || (level === "calls" && category === "snapshot");
}

function isShown(message: Message, { ways, placed, asked }: RowOptions): boolean {
  if (message.rule === "meta" && asked !== message.index && asked !== message.uuid) return false;
  if (message.agent_id !== null && placed?.has(message.agent_id)) return false;
  return ways?.isShown(message.branch) ?? true;
}

const ENDS: Readonly<Partial<Record<Step, Step>>> = { compacted: "compacting", restored: "restoring" };

/** The beginning of a compaction and its end are one row, with what was kept below it. */
function joinSteps(rows: readonly ContentRow[]): ContentRow[] {
  const joined: ContentRow[] = [];
  for (const row of rows) {
    const isHead = (other: ContentRow) => other.kind === "compaction" || !other.message.compaction;
    const at = row.kind === "compaction" ? joined.findLastIndex(isHead) : -1;
    const head = joined[at];
    if (row.kind === "compaction" && head?.kind === "compaction" && head.step === ENDS[row.step]) {
      joined[at] = { ...head, step: row.step };
    } else joined.push(row);
  }
  return joined;
}

/** How much a compaction left: what the answers before and after it were given to read. */
function weigh(rows: readonly ContentRow[]): ContentRow[] {
  return rows.map((row, at) => {
    if (row.kind !== "compaction") return row;
    const before = rows.findLast((other, n) => n < at && readBy(other.message) !== null);
    const after = rows.find((other, n) => n > at && readBy(other.message) !== null);
    return {
      ...row,
      before: before ? readBy(before.message) : null,
      after: after ? readBy(after.message) : null,
    };
  });
}

function readBy({ usage, lane }: Message): number | null {
  if (usage === null || lane === "agent") return null;
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage;
  const tokens = input_tokens + cache_read_input_tokens + cache_creation_input_tokens;
  return tokens > 0 ? tokens : null;
}

function common(message: Message, part: string | number, scope = ""): Common {
  return {
    key: `${scope}${message.index}-${part}`,
    index: message.index,
    uuid: message.uuid,
    message,
    nested: message.lane === "agent" && scope === "",
  };
}

function messageRows(message: Message, options: RowOptions, timed: boolean): ContentRow[] {
  const { level, scope, ways } = options;
  const base = (part: string | number = 0) => common(message, part, scope);
  if (PROMPTS.has(message.rule)) {
    return [{ ...base(), kind: "prompt", fork: ways?.forkOf(message.branch, message.index) ?? null }];
  }
  if (message.rule === "interruption") return [{ ...base(), kind: "mark", change: null }];
  if (message.rule === "compaction") {
    const step = message.compaction?.state ?? "compacted";
    const head: ContentRow = { ...base(), kind: "compaction", step, before: null, after: null };
    return message.compaction?.kept ? [head, { ...base("kept"), kind: "summary" }] : [head];
  }
  if (SUMMARIES.has(message.rule)) return [{ ...base(), kind: "summary" }];
  if (message.category === "error") return [{ ...base(), kind: "error" }];
  if (message.rule === "answer" || message.rule === "lone-thinking") {
    return message.blocks.flatMap((block, part) =>
      blockRows(block, base(part), level, timed && part === firstText(message)),
    );
  }
  if (message.rule === "ran-command" || message.rule === "meta") return [{ ...base(), kind: "system" }];
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
function foldBranches(rows: readonly ContentRow[], { level, openRuns, ways, scope }: RowOptions): ContentRow[] {
  if (level === "all") return [...rows];
  // What a person chose to see is not aside, wherever the conversation went on later; nor is what merely ends within
  // the branch that goes on (progress, parallel calls, a summary), or one line that follows nothing and is no talk.
  const isAside = ({ message }: ContentRow) => {
    const branch = ways?.branch(message.branch);
    if (message.active || branch?.parent !== null || branch.active) return false;
    return branch.messages > 1 || message.role === "user" || message.role === "assistant";
  };
  const folded: ContentRow[] = [];
  for (let at = 0; at < rows.length;) {
    const aside = takeWhile(rows, at, isAside);
    const [head] = aside;
    if (!head) {
      const next = takeWhile(rows, at, (row) => !isAside(row));
      folded.push(...next);
      at += next.length;
      continue;
    }
    at += aside.length;
    const run = `${scope ?? ""}${head.index}-branch`;
    if (head.index === 0 || openRuns.has(run)) folded.push(...aside);
    else {
      const messages = new Set(aside.map((row) => row.index)).size;
      folded.push({ ...common(head.message, "branch", scope), kind: "branch", run, messages });
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
    if (head?.kind !== "call") {
      const row = rows[at];
      if (row) folded.push(row);
      at += 1;
      continue;
    }
    at += run.length;
    const calls = run.flatMap((row) => (row.kind === "call" ? [row] : []));
    if (level === "prose") {
      folded.push({ ...head, key: `${head.key}-stub`, kind: "stub", calls: calls.map((row) => row.call) });
    } else if (calls.length > LONGEST_RUN && !openRuns.has(head.key)) {
      const first = calls[SHOWN_OF_RUN] ?? head;
      folded.push(...run.slice(0, run.indexOf(first)), {
        ...first,
        key: `${head.key}-more`,
        kind: "more",
        run: head.key,
        calls: calls.slice(SHOWN_OF_RUN).map((row) => row.call),
      });
    } else {
      folded.push(...run);
    }
  }
  return folded;
}

/** Calls one after the other, with the hooks that ran for them. */
function takeRun(rows: readonly ContentRow[], from: number): ContentRow[] {
  const run: ContentRow[] = [];
  for (let at = from; at < rows.length; at += 1) {
    const row = rows[at];
    const fits = row?.kind === "call" || (row?.kind === "hooks" && run.length > 0);
    if (!fits || (run[0] && run[0].nested !== row.nested)) break;
    run.push(row);
  }
  return run;
}
