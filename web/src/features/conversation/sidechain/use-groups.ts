/** The groups of the sidechain: all of them where they are few, else those that one looks at. */

import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";

import { GROUPS_AT_ONCE, sidechainsQuery } from "@/api/conversation";
import type { Sidechain } from "@/api/types";
import { groupAt } from "@/state/sidechain";

/** So many pages are loaded at once, so that groups can be counted and chosen from. */
const WHOLE_PAGES = 4;

export interface Groups {
  readonly total: number;
  /** Whether all are here. */
  readonly whole: boolean;
  readonly error: Error | null;
  readonly pending: boolean;
  readonly all: readonly Sidechain[];
  readonly at: (index: number) => Sidechain | undefined;
  /** Loads those from `first` to `last`. */
  readonly look: (first: number, last: number) => void;
  /** Where the group of a message stands, or that of the answer before it; -1 before the first. */
  readonly find: (message: number) => Promise<number>;
}

export function useGroups(session: string): Groups {
  const client = useQueryClient();
  const [seen, setSeen] = useState<readonly [first: number, last: number]>([0, 0]);
  const first = useQuery(sidechainsQuery(session, 0));
  const total = first.data?.total ?? 0;
  const pages = Math.ceil(total / GROUPS_AT_ONCE);
  const few = pages <= WHOLE_PAGES;
  const wanted = useMemo(() => {
    const [from, to] = few ? [0, pages - 1] : seen;
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, n) => from + n);
  }, [few, pages, seen]);
  const loaded = useQueries({
    queries: wanted.map((page) => ({ ...sidechainsQuery(session, page), enabled: total > 0 })),
    combine: useCallback(
      (results: readonly { readonly data: { readonly items: readonly Sidechain[] } | undefined }[]) =>
        new Map(results.map((result, n) => [wanted[n] ?? 0, result.data?.items ?? []])),
      [wanted],
    ),
  });
  const all = useMemo(
    () => (few ? wanted.flatMap((page) => loaded.get(page) ?? []) : []),
    [few, wanted, loaded],
  );
  const at = useCallback(
    (index: number) => loaded.get(Math.floor(index / GROUPS_AT_ONCE))?.[index % GROUPS_AT_ONCE],
    [loaded],
  );
  const look = useCallback((from: number, to: number) => {
    const next = [Math.floor(from / GROUPS_AT_ONCE), Math.floor(to / GROUPS_AT_ONCE)] as const;
    setSeen((before) => (before[0] === next[0] && before[1] === next[1] ? before : next));
  }, []);
  const find = useCallback(
    (message: number) => findGroup(client, session, pages, message),
    [client, session, pages],
  );
  return {
    total,
    whole: few && all.length === total,
    error: first.error,
    pending: first.isPending,
    all,
    at,
    look,
    find,
  };
}

/** By halving: a page tells whether one has to look before or behind it. */
async function findGroup(
  client: QueryClient,
  session: string,
  pages: number,
  message: number,
): Promise<number> {
  let low = 0;
  let high = pages - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const { items } = await client.query({ ...sidechainsQuery(session, middle), staleTime: "static" });
    const start = items[0]?.message ?? 0;
    const end = items.at(-1)?.message ?? 0;
    if (message < start && middle > 0) high = middle - 1;
    else if (message > end && middle < pages - 1) low = middle + 1;
    else return middle * GROUPS_AT_ONCE + groupAt(items, message);
  }
  // Between two pages: the last group of the one before.
  return low * GROUPS_AT_ONCE - 1;
}
