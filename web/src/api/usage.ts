/** Tokens and money. */

import { queryOptions } from "@tanstack/react-query";

import { request } from "./client";
import type { UsageReport } from "./types";

export type Grouping =
  "daily" | "monthly" | "session" | "project" | "model" | "tool" | "agent" | "blocks" | "person" | "machine";

export interface UsageRequest {
  readonly by: Grouping;
  /** Days as `2026-03-14`; null: from the first, to the last. */
  readonly since: string | null;
  readonly until: string | null;
  readonly timezone: string;
  readonly project: string | null;
  readonly breakdown?: "model" | "person";
  /** The most rows; the rest comes as one. */
  readonly top?: number;
}

export const usageQuery = (wanted: UsageRequest) =>
  queryOptions({
    queryKey: ["usage", wanted],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(wanted) as [string, string | number | null][]) {
        if (value !== null) query.set(name, String(value));
      }
      return request<UsageReport>(`/api/usage?${query}`, signal);
    },
    placeholderData: (previous) => previous,
    staleTime: 30_000,
  });
