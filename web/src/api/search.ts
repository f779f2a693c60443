/** Finding passages. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import type { SearchState } from "@/lib/routes";

import { getMessages, request } from "./client";
import type { Hit, Hits } from "./types";

const HITS_AT_ONCE = 50;
const FEW_HITS = 5;

/** The word at the very end may go on: whoever types sees hits before it is finished. */
function findHits(text: string, order: string, limit: number, cursor: string | null, signal: AbortSignal) {
  const query = new URLSearchParams({ q: text, order, limit: String(limit), typing: "true" });
  if (cursor !== null) query.set("cursor", cursor);
  return request<Hits>(`/api/search?${query}`, signal);
}

/** What is asked for next takes the place of what is under way: its request is given up. */
export const searchQuery = ({ text, order }: SearchState) =>
  infiniteQueryOptions({
    queryKey: ["search", text, order],
    queryFn: ({ pageParam, signal }) => findHits(text, order, HITS_AT_ONCE, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: (previous) => previous,
    enabled: text.trim() !== "",
  });

/** The first few hits, for the palette. */
export const fewHitsQuery = (text: string) =>
  queryOptions({
    queryKey: ["few-hits", text],
    queryFn: ({ signal }) => findHits(text, "newest", FEW_HITS, null, signal),
    placeholderData: (previous) => previous,
    enabled: text.trim().length > 1,
  });

/** The messages around a hit. */
export const aroundQuery = (hit: Hit) =>
  queryOptions({
    queryKey: ["around", hit.session, hit.source, hit.message_uuid],
    queryFn: ({ signal }) =>
      getMessages(hit.session ?? hit.session_id, { around: hit.message_uuid ?? 0 }, hit.source, signal),
    staleTime: 60_000,
  });
