/** From reports of usage to what plots and sentences need. Pure; money stays exact until it is drawn. */

import type { UsageReport, UsageRow } from "@/api/types";
import { parseMoney } from "@/lib/decimal";
import { formatCounted } from "@/lib/format";
import { modelName } from "@/lib/names";
import { daysBetween, shiftDay, weekdayOf } from "@/lib/zones";

export const MEASURES = ["cost", "tokens"] as const;
export type Measure = (typeof MEASURES)[number];

/** Pico-dollars, or tokens: sums of either are exact. */
export function amountOf(row: UsageRow, measure: Measure): bigint {
  return measure === "cost" ? parseMoney(row.cost_usd) : BigInt(tokensOf(row));
}

export function tokensOf(row: UsageRow): number {
  return row.input + row.output + row.cache_read + row.cache_write_5m + row.cache_write_1h;
}

export interface DayBar {
  /** `2026-03-14`, or `2026-03` where a bar is a month. */
  readonly day: string;
  readonly total: bigint;
  /** In the order of the families. */
  readonly parts: readonly bigint[];
}

export interface DayPlot {
  readonly families: readonly string[];
  readonly days: readonly DayBar[];
  readonly most: bigint;
}

const SHOWN_FAMILIES = 3;
export const OTHERS = "others";

/** `opus` of `claude-opus-4-5`; what is no model of a known form goes by its whole name. */
export function familyOf(model: string | null): string {
  if (model === null) return "no model";
  return modelName(model).split(" ")[0] ?? model;
}

/** A bar for each day or month, stacked by family of models, the largest at the bottom. */
export function buildDayPlot(report: UsageReport, measure: Measure, names: readonly string[]): DayPlot {
  const sums = new Map<string, bigint>();
  const byDay = new Map<string, Map<string, bigint>>();
  for (const row of report.rows) {
    if (row.name === null) continue;
    const parts = new Map<string, bigint>();
    for (const part of row.breakdown.length > 0 ? row.breakdown : [row]) {
      const family = part === row ? OTHERS : familyOf(part.name);
      const amount = amountOf(part, measure);
      parts.set(family, (parts.get(family) ?? 0n) + amount);
      sums.set(family, (sums.get(family) ?? 0n) + amount);
    }
    byDay.set(row.name, parts);
  }
  const sorted = [...sums].filter(([, sum]) => sum > 0n).sort(([, a], [, b]) => (a < b ? 1 : -1));
  const named = sorted.slice(0, SHOWN_FAMILIES).map(([family]) => family);
  const families =
    sorted.length > SHOWN_FAMILIES ? [...named.filter((name) => name !== OTHERS), OTHERS] : named;
  const days = names.map((day): DayBar => {
    const parts = families.map(() => 0n);
    for (const [family, amount] of byDay.get(day) ?? []) {
      const at = families.includes(family) ? families.indexOf(family) : families.length - 1;
      parts[at] = (parts[at] ?? 0n) + amount;
    }
    return { day, parts, total: parts.reduce((sum, part) => sum + part, 0n) };
  });
  return { families, days, most: days.reduce((most, { total }) => (total > most ? total : most), 0n) };
}

export interface HeatDay {
  readonly day: string;
  readonly week: number;
  readonly weekday: number;
  readonly amount: bigint;
  /** 0 for nothing, 1 to 4 for the quarters of those that have something. */
  readonly level: number;
}

/** A year of days in columns of weeks. */
export function buildHeat(report: UsageReport, measure: Measure, last: string): HeatDay[] {
  const amounts = new Map(
    report.rows.flatMap((row) => (row.name === null ? [] : [[row.name, amountOf(row, measure)]])),
  );
  const start = shiftDay(last, -364 - weekdayOf(shiftDay(last, -364)));
  const days = daysBetween(start, last);
  const some = days
    .map((day) => amounts.get(day) ?? 0n)
    .filter((amount) => amount > 0n)
    .sort((a, b) => (a < b ? -1 : 1));
  const bounds = [0.25, 0.5, 0.75].map((part) => some[Math.floor(some.length * part)] ?? 0n);
  return days.map((day, at) => {
    const amount = amounts.get(day) ?? 0n;
    const level = amount === 0n ? 0 : 1 + bounds.filter((bound) => amount > bound).length;
    return { day, week: Math.floor(at / 7), weekday: at % 7, amount, level };
  });
}

export interface Matrix {
  /** The parts, the largest first; the last one may stand for all others. */
  readonly parts: readonly (string | null)[];
  readonly rows: readonly {
    readonly name: string | null;
    readonly total: bigint;
    readonly amounts: readonly bigint[];
  }[];
}

/** Rows and what they are divided by as a table, the largest of both first; what is too much for it is one part. */
export function buildMatrix(report: UsageReport, measure: Measure, mostParts: number): Matrix {
  const sums = new Map<string | null, bigint>();
  for (const part of report.rows.flatMap((row) => row.breakdown)) {
    sums.set(part.name, (sums.get(part.name) ?? 0n) + amountOf(part, measure));
  }
  const sorted = [...sums].sort(([, a], [, b]) => (a < b ? 1 : -1)).map(([name]) => name);
  const named = sorted.length > mostParts ? sorted.slice(0, mostParts - 1) : sorted;
  const parts = sorted.length > mostParts ? [...named, OTHERS] : named;
  const rows = report.rows.map((row) => {
    const amounts = parts.map(() => 0n);
    for (const part of row.breakdown) {
      const at = named.includes(part.name) ? named.indexOf(part.name) : parts.length - 1;
      amounts[at] = (amounts[at] ?? 0n) + amountOf(part, measure);
    }
    return { name: row.name, total: amountOf(row, measure), amounts };
  });
  return { parts, rows: rows.sort((a, b) => (a.total < b.total ? 1 : -1)) };
}

/** What the figures cannot tell for sure, as sentences; none if they are exact. */
export function listDoubts({ total }: Pick<UsageReport, "total">): string[] {
  const doubts: string[] = [];
  if (total.incomplete > 0) {
    const one = total.incomplete === 1;
    doubts.push(
      `${formatCounted(total.incomplete, "answer")} ${one ? "was" : "were"} recorded before ${one ? "its" : "their"} end, so output and cost are a floor.`,
    );
  }
  const unpriced = Object.entries(total.unpriced);
  if (unpriced.length > 0) {
    const answers = unpriced.reduce((sum, [, count]) => sum + count, 0);
    const names = unpriced.slice(0, 3).map(([model]) => modelName(model));
    const rest = unpriced.length > 3 ? ` and ${unpriced.length - 3} more` : "";
    doubts.push(
      `${formatCounted(answers, "answer")} of ${names.join(", ")}${rest} ${answers === 1 ? "has" : "have"} no known price and ${answers === 1 ? "is" : "are"} not in the cost.`,
    );
  }
  const estimated = Object.entries(total.estimated);
  if (estimated.length > 0) {
    const answers = estimated.reduce((sum, [, count]) => sum + count, 0);
    const terms = estimated.slice(0, 3).map(([term]) => term);
    doubts.push(
      `${formatCounted(answers, "answer")} served under other terms (${terms.join(", ")}) ${answers === 1 ? "is" : "are"} priced at the standard rate.`,
    );
  }
  return doubts;
}

/** `≥` before what is a floor. */
export function isFloor(row: UsageRow): boolean {
  return row.incomplete > 0 || Object.keys(row.unpriced).length > 0;
}

/** Round steps for an axis, from 0 to at least the most. */
export function axisSteps(most: number): number[] {
  if (most <= 0) return [0, 1];
  const raw = most / 3;
  const scale = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * scale).find((size) => size >= raw) ?? raw;
  const steps = [0];
  while ((steps.at(-1) ?? 0) < most) steps.push(steps.length * step);
  return steps;
}
