/** The sessions that a filter lets through, as far as they are loaded. */

import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { InfiniteData } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

import { changeMarks } from "@/api/client";
import { sessionsQuery } from "@/api/queries";
import type { SessionItem, SessionPage } from "@/api/types";
import { parseFilter, sessionsPath } from "@/lib/routes";
import type { SessionFilter } from "@/lib/routes";

/** The filter stands in the address, so that it can be linked to, and back undoes it. */
export function useFilter(): readonly [SessionFilter, (change: Partial<SessionFilter>) => void] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const filter = useMemo(() => parseFilter(search), [search]);
  const change = useCallback(
    (part: Partial<SessionFilter>) => {
      navigate(sessionsPath({ ...filter, ...part }));
    },
    [filter, navigate],
  );
  return [filter, change];
}

export function useSessions(filter: SessionFilter) {
  const query = useInfiniteQuery(sessionsQuery(filter));
  const { data } = query;
  const sessions = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  return { ...query, sessions, total: data?.pages[0]?.total ?? 0 };
}

type Pages = InfiniteData<SessionPage, string | null>;

/** Stars a session at once on the page; takes it back if the server refuses. */
export function useStar() {
  const client = useQueryClient();
  const { mutate } = useMutation({
    mutationFn: ({ session, starred }: { session: SessionItem; starred: boolean }) =>
      changeMarks(session.key, { starred }),
    onMutate: ({ session, starred }) => {
      client.setQueriesData<Pages>(
        { queryKey: ["sessions"] },
        (data) => data && withStar(data, session.key, starred),
      );
    },
    onSettled: (_data, _error, { session }) =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["sessions"] }),
        client.invalidateQueries({ queryKey: ["session", session.key] }),
      ]),
  });
  return useCallback(
    (session: SessionItem) => {
      mutate({ session, starred: !session.marks.starred });
    },
    [mutate],
  );
}

function withStar(data: Pages, key: string, starred: boolean): Pages {
  const change = (item: SessionItem): SessionItem =>
    item.key === key ? { ...item, marks: { ...item.marks, starred } } : item;
  return { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(change) })) };
}
