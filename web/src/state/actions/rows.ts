/** The action log as rows: turns with their sums, and the actions between them. Pure. */

import type { Action } from "@/api/actions";
import type { Turn } from "@/api/types";

export interface TurnRow {
  readonly kind: "turn";
  readonly key: string;
  /** Null: before the first prompt. */
  readonly turn: Turn | null;
  readonly number: number | null;
  /** Null while actions of that turn may still be to come. */
  readonly actions: number | null;
  readonly failed: number;
}

export interface ActionRow {
  readonly kind: "action";
  readonly key: string;
  readonly action: Action;
}

export type LogRow = TurnRow | ActionRow;

/** With a heading wherever another turn begins; calls of agents that go on may come back to an earlier one. */
export function buildLogRows(
  items: readonly Action[],
  turns: readonly Turn[],
  byTurn: boolean,
  complete: boolean,
): LogRow[] {
  if (!byTurn) return items.map(actionRow);
  const sums = sumUp(items);
  const last = items.at(-1)?.turn ?? null;
  const rows: LogRow[] = [];
  let current: number | null | undefined;
  for (const action of items) {
    if (action.turn !== current) {
      current = action.turn;
      const sum = sums.get(current);
      rows.push({
        kind: "turn",
        key: `turn-${current ?? "none"}-${action.index}`,
        turn: current === null ? null : (turns[current] ?? null),
        number: current === null ? null : current + 1,
        actions: complete || current !== last ? (sum?.actions ?? 0) : null,
        failed: sum?.failed ?? 0,
      });
    }
    rows.push(actionRow(action));
  }
  return rows;
}

function actionRow(action: Action): ActionRow {
  return { kind: "action", key: `action-${action.index}`, action };
}

function sumUp(items: readonly Action[]): Map<number | null, { actions: number; failed: number }> {
  const sums = new Map<number | null, { actions: number; failed: number }>();
  for (const { turn, state } of items) {
    const sum = sums.get(turn) ?? { actions: 0, failed: 0 };
    sum.actions += 1;
    if (state === "failed") sum.failed += 1;
    sums.set(turn, sum);
  }
  return sums;
}

/** The tools and events of the session, the most frequent first; one that is chosen always is among them. */
export function listNames(
  names: Readonly<Record<string, number>>,
  chosen: string | null,
): readonly (readonly [name: string, count: number])[] {
  const counts = new Map(Object.entries(names));
  if (chosen !== null && !counts.has(chosen)) counts.set(chosen, 0);
  return [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b));
}
