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
  | {
      readonly kind: "session";
      readonly key: string;
      readonly session: SessionItem;
      /** Whether it stands under the first session of its group, which was opened. */
      readonly member: boolean;
    }
  | {
      readonly kind: "more";
      readonly key: string;
      readonly group: string;
      /** How many sessions of the group are not listed yet; null while nothing of it is known. */
      readonly left: number | null;
      readonly failed: boolean;
    }
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
  /** Groups that were opened, by their names. */
  readonly opened?: ReadonlyMap<string, OpenedGroup>;
}

/** What is loaded of a group. */
export interface OpenedGroup {
  readonly sessions: readonly SessionItem[];
  /** How many there are; null while that is not known. */
  readonly total: number | null;
  readonly failed: boolean;
}

/** What a group is called, whichever of its sessions stands for it; null for a session by itself. */
export function groupOf(session: SessionItem): string | null {
  return session.alike > 1 ? `${session.series ?? ""} ${session.person ?? ""}` : null;
}

/** By day if the order is one of time, else as they come; behind the first of an opened group the others. */
export function buildListRows(sessions: readonly SessionItem[], options: ListOptions): ListRow[] {
  const rowsOf = (session: SessionItem) => sessionRows(session, options.opened);
  if (options.sort !== "newest" && options.sort !== "oldest") return sessions.flatMap(rowsOf);
  const days = groupByDay(sessions, options.now);
  // The others of a group may be of any day from its first one on, so these cannot be summed up.
  const firstGroup = days.findIndex(({ items }) => items.some((session) => session.alike > 1));
  return days.flatMap(({ day, items }, at): ListRow[] => {
    const known = (options.complete || at < days.length - 1) && (firstGroup < 0 || at < firstGroup);
    return [
      { kind: "day", key: `day-${day.key}`, day, sums: known ? sumUp(items) : null },
      ...items.flatMap(rowsOf),
    ];
  });
}

function sessionRows(first: SessionItem, opened: ListOptions["opened"]): ListRow[] {
  const row: ListRow = { kind: "session", key: first.key, session: first, member: false };
  const name = groupOf(first);
  const group = name === null ? undefined : opened?.get(name);
  if (name === null || !group) return [row];
  const others = group.sessions.filter(({ key }) => key !== first.key);
  const left = group.total === null ? null : Math.max(0, group.total - group.sessions.length);
  return [
    row,
    ...others.map((session): ListRow => ({ kind: "session", key: session.key, session, member: true })),
    ...(left === 0 && !group.failed
      ? []
      : [{ kind: "more" as const, key: `more-${name}`, group: name, left, failed: group.failed }]),
  ];
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
