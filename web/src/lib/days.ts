/** Which day something happened, as people say it. Days are the reader's own. */

const WEEKDAY = new Intl.DateTimeFormat("en-GB", { weekday: "long" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long" });
const DAY_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });

export interface Day {
  /** `2025-11-29`, or the empty string if time unknown. */
  readonly key: string;
  readonly name: string;
  readonly detail: string;
}

const two = (n: number) => String(n).padStart(2, "0");

export function dayKey(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** `Today · Saturday 29 November`, `Thursday · 27 November`, `12 March 2024 · Tuesday`. */
export function describeDay(time: string | null, now: Date): Day {
  if (time === null) return { key: "", name: "Undated", detail: "time unknown" };
  const date = new Date(time);
  const key = dayKey(date);
  const weekday = WEEKDAY.format(date);
  const day = (date.getFullYear() === now.getFullYear() ? DAY : DAY_YEAR).format(date);
  const ago = daysBetween(date, now);
  if (ago === 0) return { key, name: "Today", detail: `${weekday} ${day}` };
  if (ago === 1) return { key, name: "Yesterday", detail: `${weekday} ${day}` };
  if (ago > 1 && ago < 7) return { key, name: weekday, detail: day };
  return { key, name: day, detail: weekday };
}

function daysBetween(date: Date, now: Date): number {
  // By the calendar, not by 24 hours: days with a change of clocks are shorter or longer.
  const utc = (d: Date) => Date.UTC(d.getFullYear(), d.getMonth(), d.getDate());
  return Math.round((utc(now) - utc(date)) / 86_400_000);
}
