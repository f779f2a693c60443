/** Numbers with their units. What is not known is a dash, never a guess. */

const UNKNOWN = "–";

const COUNT = new Intl.NumberFormat("en-US");
const MONEY = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "medium" });

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function formatCount(count: number): string {
  return COUNT.format(count);
}

/** `1 call`, `1,204 calls`. */
export function formatCounted(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatMoney(dollars: number | null): string {
  if (dollars === null) return UNKNOWN;
  return dollars > 0 && dollars < 0.01 ? "<$0.01" : MONEY.format(dollars);
}

/** `950`, `38.2 k`, `134 k`, `2.9 M`. */
export function formatTokens(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  // 999,950 would be `1000 k`: what rounds up to the next unit is written in it.
  for (const [size, unit] of [
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "G"],
  ] as const) {
    const scaled = tokens / size;
    const digits = scaled < 99.95 ? 1 : 0;
    if (Number(scaled.toFixed(digits)) < 1000 || unit === "G") return `${scaled.toFixed(digits)} ${unit}`;
  }
  return UNKNOWN;
}

const two = (n: number) => String(n).padStart(2, "0");

/** `0.1 s`, `12 s`, `2 m 09 s`, `34 m`, `1 h 54 m`, `3 d 4 h`. */
export function formatDuration(ms: number | null): string {
  if (ms === null || ms < 0) return UNKNOWN;
  if (ms < 9950) return `${Math.max(ms === 0 ? 0 : 0.1, Math.round(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  return formatSpan(ms);
}

/** The same to the minute, for lists: `3 m`, `2 h 05 m`; below a minute, seconds. */
export function formatSpan(ms: number | null): string {
  if (ms === null || ms < 0) return UNKNOWN;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 60) return `${minutes} m`;
  if (minutes * MINUTE < DAY) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`;
  const hours = Math.round(ms / HOUR);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A time that runs: `12 s`, `1 m 09 s`, `34 m`, `1 h 54 m`; it never shows more than has passed. */
export function formatElapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  return formatSpan(Math.floor(ms / MINUTE) * MINUTE);
}

/** `just now`, `4 m ago`, `3 h ago`, `2 d ago`. */
export function formatAgo(ms: number): string {
  if (ms < MINUTE) return "just now";
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m ago`;
  return ms < DAY ? `${Math.round(ms / HOUR)} h ago` : `${Math.round(ms / DAY)} d ago`;
}

/** `15:20`, in the reader's time zone. */
export function formatClock(time: string | null): string {
  return time === null ? "" : CLOCK.format(new Date(time));
}

/** `15:20:31.4`, where much happens in a second. */
export function formatExactClock(time: string | null): string {
  if (time === null) return "";
  const date = new Date(time);
  const tenth = Math.floor(date.getMilliseconds() / 100);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${tenth}`;
}

/** `29 Nov`, and the year where it is another one than now. */
export function formatDate(time: string | null, now = new Date()): string {
  if (time === null) return UNKNOWN;
  const date = new Date(time);
  return (date.getFullYear() === now.getFullYear() ? DATE : DATE_YEAR).format(date);
}

/** Everything about a moment, for titles. */
export function formatMoment(time: string | null): string {
  return time === null ? "time unknown" : MOMENT.format(new Date(time));
}

/** `64 kB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
