/** Days of a time zone, and the zones there are. */

/** The reader's own. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export function listZones(): readonly string[] {
  return [...new Set([ownZone(), "UTC", ...Intl.supportedValuesOf("timeZone")])];
}

export function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** `2026-03-14`: the day that it is there. */
export function dayIn(zone: string, time: Date): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone: zone }).format(time);
}

/** Days are counted by the calendar; `2026-03-01` and -1 is `2026-02-28`. */
export function shiftDay(day: string, days: number): string {
  const date = new Date(`${day}T12:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

/** From one day to another, both included. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  for (let day = first; day <= last; day = shiftDay(day, 1)) days.push(day);
  return days;
}

/** `2026-03`, and so on: the months from one day to another, both included. */
export function monthsBetween(first: string, last: string): string[] {
  const months: string[] = [];
  for (let month = first.slice(0, 7); month <= last; month = nextMonth(month)) months.push(month);
  return months;
}

function nextMonth(month: string): string {
  return shiftDay(`${month}-28`, 4).slice(0, 7);
}

/** A day or a month as the days from its first to before its end. */
export function boundsOf(name: string): { readonly since: string; readonly until: string } {
  return name.length === 7
    ? { since: `${name}-01`, until: `${nextMonth(name)}-01` }
    : { since: name, until: shiftDay(name, 1) };
}

/** 0 is Monday. */
export function weekdayOf(day: string): number {
  return (new Date(`${day}T12:00:00Z`).getUTCDay() + 6) % 7;
}

const SHORT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const LONG = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });
const MONTH_YEAR = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: "UTC" });
const noon = (day: string) => new Date(`${day}T12:00:00Z`);

/** `3 Nov`; of a month, `Nov 2026`. */
export function formatDay(name: string): string {
  return name.length === 7 ? MONTH_YEAR.format(noon(`${name}-01`)) : SHORT.format(noon(name));
}

/** `Tue, 3 Nov 2026`; of a month, `Nov 2026`. */
export function formatLongDay(name: string): string {
  return name.length === 7 ? formatDay(name) : LONG.format(noon(name));
}

export const formatMonth = (day: string) => MONTH.format(noon(day));

/** `today 15:00`, `Fri 10:00`, `12 Mar 10:00`: a moment as it was there. */
export function formatHour(time: string, zone: string, now: Date): string {
  const date = new Date(time);
  const day = dayIn(zone, date);
  const clock = new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZone: zone,
  }).format(date);
  const today = dayIn(zone, now);
  if (day === today) return `today ${clock}`;
  const recent = day > shiftDay(today, -7);
  const name = recent
    ? new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: "UTC" }).format(noon(day))
    : formatDay(day);
  return `${name} ${clock}`;
}
