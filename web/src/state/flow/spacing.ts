/** How far a row stands from the one before, and how tall it is likely to be. */

import type { Row } from "./rows";

export type Space = "none" | "s" | "m" | "l";

const TIGHT = new Set<Row["kind"]>(["call", "more", "thinking", "stub"]);
const SMALL = new Set<Row["kind"]>(["system", "unknown"]);

export function spaceBefore(row: Row, previous: Row | undefined): Space {
  if (!previous || row.kind === "gap" || previous.kind === "gap") return "none";
  if (row.kind === "prompt") return "l";
  if (row.kind === "turn-end") return "none";
  if (row.kind === "hooks") return "s";
  if (TIGHT.has(row.kind)) return TIGHT.has(previous.kind) ? "none" : "s";
  if (SMALL.has(row.kind)) return SMALL.has(previous.kind) ? "none" : "s";
  return "m";
}

const HEIGHTS: Readonly<Record<Exclude<Row["kind"], "gap">, number>> = {
  prompt: 130,
  text: 100,
  thinking: 34,
  call: 31,
  more: 28,
  stub: 34,
  image: 240,
  unknown: 40,
  mark: 40,
  compaction: 140,
  summary: 46,
  error: 80,
  system: 26,
  branch: 40,
  hooks: 30,
  "turn-end": 46,
};

export function guessHeight(row: Row): number {
  return row.kind === "gap" ? row.gap.height : HEIGHTS[row.kind];
}
