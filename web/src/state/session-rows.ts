/** The list of sessions as rows: days with their sums, and the sessions between them. Pure. */

import type { SessionItem } from "@/api/types";
import { describeDay } from "@/lib/days";
import type { Day } from "@/lib/days";
import type { SessionSort } from "@/lib/routes";

export interface DaySums {
  readonly sessions: number;
  readonly messages: number;
  /** Null if nothing of the day has a price. */
  readonly cost: number | null;
}

export type ListRow =
  | { readonly kind: "session"; readonly key: string; readonly session: SessionItem }
  | {
      readonly kind: "day";
      readonly key: string;
      readonly day: Day;
      /** Null while sessions of that day may still be to come. */
      readonly sums: DaySums | null;
    };

export interface ListOptions {
  readonly sort: SessionSort;
  readonly now: Date;
  /** Whether these are all sessions. */
  readonly complete: boolean;
}

/** By day if the order is one of time, else as they come. */
export function buildListRows(sessions: readonly SessionItem[], options: ListOptions): ListRow[] {
  if (options.sort !== "newest" && options.sort !== "oldest") return sessions.map(sessionRow);
  const days = groupByDay(sessions, options.now);
  return days.flatMap(({ day, items }, at): ListRow[] => {
    const known = options.complete || at < days.length - 1;
    return [
      { kind: "day", key: `day-${day.key}`, day, sums: known ? sumUp(items) : null },
      ...items.map(sessionRow),
    ];
  });
}

function sessionRow(session: SessionItem): ListRow {
  return { kind: "session", key: session.key, session };
}

function groupByDay(sessions: readonly SessionItem[], now: Date): { day: Day; items: SessionItem[] }[] {
  const groups: { day: Day; items: SessionItem[] }[] = [];
  for (const session of sessions) {
    const day = describeDay(session.last_at, now);
    const last = groups.at(-1);
    if (last?.day.key === day.key) last.items.push(session);
    else groups.push({ day, items: [session] });
  }
  return groups;
}

function sumUp(sessions: readonly SessionItem[]): DaySums {
  const priced = sessions.flatMap((session) => (session.cost_usd === null ? [] : [session.cost_usd]));
  return {
    sessions: sessions.length,
    messages: sessions.reduce((sum, session) => sum + session.messages, 0),
    cost: priced.length > 0 ? priced.reduce((sum, cost) => sum + cost, 0) : null,
  };
}

interface Counted {
  readonly name: string;
  readonly sessions: number;
}

/** What is chosen is always among the values, also where nothing has it any more. */
export function withChosen<V extends Counted>(
  values: readonly V[],
  chosen: string | null,
): readonly (V | Counted)[] {
  return chosen === null || values.some(({ name }) => name === chosen)
    ? values
    : [...values, { name: chosen, sessions: 0 }];
}

/** Puts something into a set, or takes it out of it. */
export function toggled<T>(set: ReadonlySet<T>, value: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
}
