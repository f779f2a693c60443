/** Who did what: entries that are added and never changed. */

import { infiniteQueryOptions } from "@tanstack/react-query";

import { auditQueryOf } from "@/lib/people-routes";
import type { AuditState } from "@/lib/people-routes";

import { request } from "./client";
import type { components } from "./schema";

export type AuditEntry = components["schemas"]["AuditItem"];
export type AuditPage = components["schemas"]["AuditPage"];

const AT_ONCE = 100;

/** The newest first, page by page. */
export const auditQuery = (asked: AuditState) =>
  infiniteQueryOptions({
    queryKey: ["audit", asked],
    queryFn: ({ pageParam, signal }) => {
      const query = auditQueryOf(asked);
      query.set("limit", String(AT_ONCE));
      if (pageParam !== null) query.set("before", String(pageParam));
      return request<AuditPage>(`/api/audit?${query}`, signal);
    },
    initialPageParam: null as number | null,
    getNextPageParam: (page) => page.next,
    placeholderData: (previous) => previous,
    staleTime: 0,
  });
