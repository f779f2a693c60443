/** What lists of sessions can be narrowed down by, and sessions by their title. */

import { queryOptions } from "@tanstack/react-query";

import { filterQuery } from "@/lib/routes";
import type { SessionFilter } from "@/lib/routes";

import { request } from "./client";
import type { SessionFacets, SessionPage } from "./types";

export type FacetCount = SessionFacets["models"][number];

/** How many sessions have which model, tag and branch, among those that the filter lets through. */
export const facetsQuery = (filter: SessionFilter) =>
  queryOptions({
    queryKey: ["facets", filter],
    queryFn: ({ signal }) => {
      const query = filterQuery(filter);
      query.delete("sort");
      return request<SessionFacets>(`/api/sessions/facets?${query}`, signal);
    },
    placeholderData: (previous) => previous,
  });

const FEW = 8;

/** Sessions whose title has the text in it; the newest ones for none. */
export const sessionTitlesQuery = (text: string) =>
  queryOptions({
    queryKey: ["sessions-by-title", text],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ grouped: "true", limit: String(FEW) });
      if (text !== "") query.set("text", text);
      return request<SessionPage>(`/api/sessions?${query}`, signal);
    },
    placeholderData: (previous) => previous,
  });

const SOME = 10;

/** Sessions that Claude Code has deleted, the newest. */
export const onlyHereQuery = () =>
  queryOptions({
    queryKey: ["archive", "only-here"],
    queryFn: ({ signal }) => request<SessionPage>(`/api/sessions?only_here=true&limit=${SOME}`, signal),
  });
