/** How far a row stands from the one before, and how tall it is likely to be. */

import { guessProse } from "@/lib/pieces";

import type { Row } from "./rows";

export type Space = "none" | "s" | "m" | "l";

const TIGHT = new Set<Row["kind"]>(["call", "more", "thinking", "stub"]);
const SMALL = new Set<Row["kind"]>(["system", "unknown", "notes"]);

export function spaceBefore(row: Row, previous: Row | undefined): Space {
  if (!previous || row.kind === "gap" || previous.kind === "gap") return "none";
  if (row.kind === "prompt") return "l";
  if (row.kind === "turn-end") return "none";
  if (row.kind === "hooks") return "s";
  if (TIGHT.has(row.kind)) return TIGHT.has(previous.kind) ? "none" : "s";
  if (SMALL.has(row.kind)) return SMALL.has(previous.kind) ? "none" : "s";
  return "m";
}

const SPACES: Readonly<Record<Space, number>> = { none: 0, s: 8, m: 16, l: 40 };

/** Without what is written in them; those of one line are exact, so that nothing is moved when they are drawn. */
const HEIGHTS: Readonly<Record<Exclude<Row["kind"], "gap">, number>> = {
  prompt: 24,
  text: 0,
  thinking: 30,
  call: 30,
  more: 28,
  stub: 30,
  image: 240,
  unknown: 32,
  mark: 20,
  compaction: 168,
  summary: 30,
  error: 60,
  system: 24,
  notes: 24,
  branch: 24,
  hooks: 22,
  "turn-end": 43,
};

/** How tall a row is, with the space before it. */
export function guessHeight(row: Row, previous: Row | undefined): number {
  if (row.kind === "gap") return row.gap.height;
  const own = SPACES[spaceBefore(row, previous)] + HEIGHTS[row.kind];
  if (row.kind === "prompt") return own + guessProse(row.message.content);
  return row.kind === "text" ? own + guessProse(row.text) : own;
}

/** What drawing a row costs, beside the Markdown in it, in the weight of so many characters of it. */
export function weighRow(row: Row): number {
  return row.kind === "call" || row.kind === "prompt" ? 300 : 150;
}
