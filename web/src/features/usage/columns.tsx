/** Columns of the tables of usage, and the same figures for CSV. */

import type { UsageRow } from "@/api/types";
import type { Cell } from "@/lib/csv";
import { formatExact, parseMoney } from "@/lib/decimal";
import { formatCount, formatTokens } from "@/lib/format";
import { isFloor, tokensOf } from "@/state/usage";
import type { Column } from "@/ui/data-table";

export const COST: Column<UsageRow> = {
  name: "Cost",
  show: (row) => {
    if (row.cost_usd === "0" && Object.keys(row.unpriced).length > 0) return "–";
    return `${isFloor(row) ? "≥" : ""}${formatExact(parseMoney(row.cost_usd))}`;
  },
};
export const MESSAGES: Column<UsageRow> = { name: "Answers", show: (row) => formatCount(row.messages) };
export const INPUT: Column<UsageRow> = { name: "Input", show: (row) => formatTokens(row.input), wide: true };
export const OUTPUT: Column<UsageRow> = {
  name: "Output",
  show: (row) => `${row.incomplete > 0 ? "≥" : ""}${formatTokens(row.output)}`,
};
export const CACHE_READ: Column<UsageRow> = {
  name: "Cache read",
  show: (row) => formatTokens(row.cache_read),
  wide: true,
};
export const CACHE_WRITE: Column<UsageRow> = {
  name: "Cache write",
  show: (row) => formatTokens(row.cache_write_5m + row.cache_write_1h),
  wide: true,
};
export const CACHE: Column<UsageRow> = {
  name: "Cache",
  show: (row) => formatTokens(row.cache_read + row.cache_write_5m + row.cache_write_1h),
};
export const TOKENS: Column<UsageRow> = { name: "Tokens", show: (row) => formatTokens(tokensOf(row)) };

const CSV_HEAD = [
  "messages",
  "input",
  "output",
  "cache_read",
  "cache_write_5m",
  "cache_write_1h",
  "web_searches",
  "incomplete",
  "cost_usd",
  "saved_usd",
] as const;

/** Every figure as the server tells it; with a second name where rows are divided. */
export function csvOf(name: string, rows: readonly UsageRow[], part?: string): Cell[][] {
  const line = (row: UsageRow, names: Cell[]): Cell[] => [...names, ...CSV_HEAD.map((key) => row[key])];
  const head = part === undefined ? [name] : [name, part];
  return [
    [...head, ...CSV_HEAD],
    ...rows.flatMap((row) =>
      part === undefined
        ? [line(row, [row.name])]
        : row.breakdown.map((each) => line(each, [row.name, each.name])),
    ),
  ];
}
