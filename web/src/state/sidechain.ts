/** The sidechain: operations under the answer that started them (spec 003). Pure. */

import type { Call, Sidechain } from "@/api/types";

export const SHOWN = ["all", "failed", "agent", "mcp", "skill"] as const;
export type Shown = (typeof SHOWN)[number];

/** How many operations there are of each sort that can be chosen. */
export function countOperations(groups: readonly Sidechain[]): Readonly<Record<Shown, number>> {
  const counts: Record<Shown, number> = { all: 0, failed: 0, agent: 0, mcp: 0, skill: 0 };
  for (const { operations, failed, categories } of groups) {
    counts.all += operations;
    counts.failed += failed;
    counts.agent += categories["agent"] ?? 0;
    counts.mcp += categories["mcp"] ?? 0;
    counts.skill += categories["skill"] ?? 0;
  }
  return counts;
}

export function filterGroups(groups: readonly Sidechain[], shown: Shown): readonly Sidechain[] {
  if (shown === "all") return groups;
  return groups.filter((group) => (shown === "failed" ? group.failed > 0 : (group.categories[shown] ?? 0) > 0));
}

export function filterCalls(calls: readonly Call[], shown: Shown): readonly Call[] {
  if (shown === "all") return calls;
  return calls.filter((call) => (shown === "failed" ? call.state === "failed" : call.category === shown));
}

/** The group that a message belongs to: its own, or that of the answer before it. */
export function groupAt(groups: readonly Sidechain[], message: number): number {
  let low = 0;
  let high = groups.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if ((groups[middle]?.message ?? 0) <= message) low = middle + 1;
    else high = middle - 1;
  }
  return high;
}
