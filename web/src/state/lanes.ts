/** The last three hours of each session as bars on one line. Pure. */

import type { Board, BoardCard, BoardInterval } from "@/api/board";
import { baseName } from "@/lib/names";

export const LANES_MS = 3 * 3600 * 1000;
const TICK_MS = LANES_MS / 6;
/** More lines than these would hide the board's own news. */
const MOST_LANES = 12;

export interface LaneBar {
  readonly kind: BoardInterval["kind"];
  /** In percent of the whole width. */
  readonly left: number;
  readonly width: number;
}

export interface Lane {
  readonly session: string;
  readonly project: string;
  /** Only where two lines have the same project. */
  readonly branch: string | null;
  readonly bars: readonly LaneBar[];
  /** Its card, which says how it is now. */
  readonly card: BoardCard | null;
}

export interface Lanes {
  readonly lanes: readonly Lane[];
  readonly left_out: number;
}

const RANK: Readonly<Record<BoardCard["column"], number>> = { needs_you: 0, working: 1, done: 2 };

export function buildLanes(board: Board, now: number): Lanes {
  const cards = new Map(board.sessions.map((card) => [card.session_id, card]));
  const names = board.spans.map((span) => nameOf(span.project));
  const all = board.spans
    .map((span, at): Lane => {
      const project = names[at] ?? "";
      const shared = names.filter((name) => name === project).length > 1;
      return {
        session: span.session_id,
        project,
        branch: shared ? span.branch : null,
        bars: span.intervals.flatMap((interval) => barOf(interval, now)),
        card: cards.get(span.session_id) ?? null,
      };
    })
    .filter((lane) => lane.bars.some((bar) => bar.kind !== "done"))
    .sort(compareLanes);
  return { lanes: all.slice(0, MOST_LANES), left_out: Math.max(0, all.length - MOST_LANES) };
}

function nameOf(project: string | null): string {
  return project === null ? "no project" : baseName(project);
}

function barOf(interval: BoardInterval, now: number): LaneBar[] {
  const start = now - LANES_MS;
  const from = Math.max(Date.parse(interval.from), start);
  const to = Math.min(Date.parse(interval.to), now);
  if (to < start || from > now || to < from) return [];
  return [
    { kind: interval.kind, left: ((from - start) / LANES_MS) * 100, width: ((to - from) / LANES_MS) * 100 },
  ];
}

/** As on the board: those that live by when they began, the others by when they ended. */
function compareLanes(a: Lane, b: Lane): number {
  const rank = rankOf(a) - rankOf(b);
  if (rank !== 0) return rank;
  return rankOf(a) === RANK.done ? endOf(b) - endOf(a) : startOf(a) - startOf(b);
}

function startOf(lane: Lane): number {
  return Math.min(...lane.bars.map((bar) => bar.left));
}

function rankOf(lane: Lane): number {
  return lane.card === null ? RANK.done : RANK[lane.card.column];
}

function endOf(lane: Lane): number {
  return Math.max(...lane.bars.map((bar) => bar.left + bar.width));
}

/** The times under the lines; the last one is now. */
export function laneTicks(now: number): number[] {
  return Array.from({ length: 6 }, (_, n) => now - LANES_MS + n * TICK_MS);
}
