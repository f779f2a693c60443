/** How amounts are written: exact money, or tokens. */

import { formatExact, toNumber } from "@/lib/decimal";
import { formatTokens } from "@/lib/format";
import type { Measure } from "@/state/usage";

export function formatAmount(amount: bigint, measure: Measure): string {
  return measure === "cost" ? formatExact(amount) : formatTokens(Number(amount));
}

/** For drawing. */
export function sizeOf(amount: bigint, measure: Measure): number {
  return measure === "cost" ? toNumber(amount) : Number(amount);
}

/** On an axis: as few digits as tell the steps apart. */
export function formatStep(step: number, measure: Measure, most: number): string {
  if (measure === "tokens") return formatTokens(step).replace(".0 ", " ");
  const digits = most < 0.1 ? 3 : most < 10 ? 2 : 0;
  return `$${step.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

export const MEASURE_NAMES: Readonly<Record<Measure, string>> = { cost: "Cost", tokens: "Tokens" };
