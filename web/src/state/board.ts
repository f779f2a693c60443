/** Mission control as it is drawn: columns, their order, what they say in a sentence. Pure. */

import type { Board, BoardCard } from "@/api/board";
import { dayKey } from "@/lib/days";
import { baseName } from "@/lib/names";
import type { BoardState, Grouping } from "@/lib/routes";

export interface BoardGroup {
  readonly key: string;
  readonly name: string;
  readonly kind: "needs_you" | "working" | "done" | "project" | "person" | "machine";
  readonly cards: readonly BoardCard[];
}

/** What is on the board: everything that lives, and what ended today. */
export function cardsOfToday(board: Board, now: Date): BoardCard[] {
  const today = dayKey(now);
  return board.sessions.filter(
    (card) => card.column !== "done" || dayKey(new Date(timeOf(endOf(card)))) === today,
  );
}

export function groupCards(cards: readonly BoardCard[], by: Grouping): BoardGroup[] {
  switch (by) {
    case "state":
      return byState(cards);
    case "project":
      return inGroups(
        cards,
        by,
        (card) => card.project ?? "",
        ({ project }) => (project === null ? "No project" : baseName(project)),
      );
    case "person":
      return inGroups(
        cards,
        by,
        ({ person }) => person ?? "",
        ({ person }) => person ?? "Nobody",
      );
    case "machine":
      return inGroups(cards, by, ({ machine }) => machine, machineOf);
  }
}

/** How a card's machine is called. */
export function machineOf({ machine, host }: Pick<BoardCard, "machine" | "host">): string {
  return host || machine.slice(0, 8) || "No machine";
}

/** Those of one person, or from one machine. */
export function narrowCards(
  cards: readonly BoardCard[],
  { person, machine }: Pick<BoardState, "person" | "machine">,
): readonly BoardCard[] {
  if (person === null && machine === null) return cards;
  return cards.filter(
    (card) =>
      (person === null || (card.person ?? "") === person) && (machine === null || card.machine === machine),
  );
}

/** What cards can be narrowed down by, each with its name, by name. */
export function listOwners(cards: readonly BoardCard[]): {
  readonly persons: readonly (readonly [value: string, name: string])[];
  readonly machines: readonly (readonly [value: string, name: string])[];
} {
  const byName = (entries: Map<string, string>) => [...entries].sort(([, a], [, b]) => a.localeCompare(b));
  return {
    persons: byName(new Map(cards.map(({ person }) => [person ?? "", person ?? "Nobody"]))),
    machines: byName(
      new Map(cards.flatMap((card) => (card.machine ? [[card.machine, machineOf(card)] as const] : []))),
    ),
  };
}

function byState(cards: readonly BoardCard[]): BoardGroup[] {
  return [
    { key: "needs_you", kind: "needs_you", name: "Needs you", cards: inColumn(cards, "needs_you") },
    { key: "working", kind: "working", name: "Working", cards: inColumn(cards, "working") },
    { key: "done", kind: "done", name: "Done today", cards: inColumn(cards, "done") },
  ];
}

function inGroups(
  cards: readonly BoardCard[],
  kind: "project" | "person" | "machine",
  keyOf: (card: BoardCard) => string,
  nameOf: (card: BoardCard) => string,
): BoardGroup[] {
  const groups = new Map<string, { name: string; cards: BoardCard[] }>();
  for (const card of sortCards(cards)) {
    const group = groups.get(keyOf(card));
    if (group) group.cards.push(card);
    else groups.set(keyOf(card), { name: nameOf(card), cards: [card] });
  }
  return [...groups].map(([key, group]) => ({ key, kind, ...group }));
}

export function inColumn(cards: readonly BoardCard[], column: BoardCard["column"]): BoardCard[] {
  return sortCards(cards.filter((card) => card.column === column));
}

const COLUMNS: readonly BoardCard["column"][] = ["needs_you", "working", "done"];

/** The longest wait first; what works stays in its place while it works; what ended last comes first. */
function sortCards(cards: readonly BoardCard[]): BoardCard[] {
  return cards.toSorted((a, b) => {
    const column = COLUMNS.indexOf(a.column) - COLUMNS.indexOf(b.column);
    if (column !== 0) return column;
    const order =
      a.column === "needs_you"
        ? timeOf(sinceOf(a)) - timeOf(sinceOf(b))
        : a.column === "working"
          ? timeOf(startOf(a)) - timeOf(startOf(b))
          : timeOf(endOf(b)) - timeOf(endOf(a));
    return order || a.session_id.localeCompare(b.session_id);
  });
}

const WORDS = [
  "no",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
] as const;

function inWords(count: number): string {
  return WORDS[count] ?? String(count);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `Two sessions need you.` and `Four are working, five are done today.` */
export function describeBoard(cards: readonly BoardCard[]): { readonly first: string; readonly rest: string } {
  const count = (column: BoardCard["column"]) => cards.filter((card) => card.column === column).length;
  const needs = count("needs_you");
  const works = count("working");
  const done = count("done");
  const first =
    needs === 0
      ? "Nothing needs you."
      : `${capital(inWords(needs))} ${needs === 1 ? "session needs" : "sessions need"} you.`;
  const parts = [
    ...(works > 0 ? [`${inWords(works)} ${works === 1 ? "is" : "are"} working`] : []),
    ...(done > 0 ? [`${inWords(done)} ${done === 1 ? "is" : "are"} done today`] : []),
  ];
  return { first, rest: parts.length > 0 ? `${capital(parts.join(", "))}.` : "" };
}

const COMMANDS = new Set(["Bash", "BashOutput", "KillShell", "PowerShell"]);
const EDITS = new Set(["Edit", "MultiEdit", "Write", "NotebookEdit"]);
const READS = new Set(["Read", "Glob", "Grep", "LS", "NotebookRead"]);
const WEB = new Set(["WebFetch", "WebSearch"]);

/** Why it waits, in a few words. */
export function describeWhy(card: BoardCard): string {
  switch (card.why) {
    case "permission":
      return describePermission(card.step?.tool_name ?? null);
    case "question":
      return "Asks a question";
    case "plan":
      return "Asks you to approve a plan";
    case "failed":
      return "Stopped by an error";
    case "idle":
    case "turn_ended":
    case null:
      return "Waiting for your next prompt";
  }
}

function describePermission(tool: string | null): string {
  if (tool === null) return "Asks for permission";
  if (COMMANDS.has(tool)) return "Asks to run a command";
  if (EDITS.has(tool)) return "Asks to change a file";
  if (READS.has(tool)) return "Asks to read a file";
  if (WEB.has(tool)) return "Asks to access the web";
  return "Asks to use a tool";
}

/** Whether what it asks for is code, and so set as code. */
export function asksForCode(card: BoardCard): boolean {
  return card.why === "permission";
}

export function titleOf(card: BoardCard): string {
  return card.title ?? `Session ${card.session_id.slice(0, 8)}`;
}

/** Whether there is something to read: a session of which only hooks have told has no file here yet. */
export function isReadable(card: BoardCard): boolean {
  return card.key !== card.session_id;
}

/** Since when it is as it is, as far as that is known. */
export function sinceOf(card: BoardCard): string | null {
  return card.since ?? card.last_at;
}

export function startOf(card: BoardCard): string | null {
  return card.started_at ?? card.since;
}

export function endOf(card: BoardCard): string | null {
  return card.last_at ?? card.since;
}

function timeOf(time: string | null): number {
  return time === null ? 0 : Date.parse(time);
}
