/** The sessions that a filter lets through, as far as they are loaded. */

import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { InfiniteData } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

import { changeMarks } from "@/api/client";
import type { MarksChange } from "@/api/client";
import { sessionsQuery } from "@/api/queries";
import type { SessionItem, SessionPage } from "@/api/types";
import { parseFilter, sessionsPath } from "@/lib/routes";
import type { SessionFilter } from "@/lib/routes";

/** The filter stands in the address, so that it can be linked to, and back undoes it. */
export function useFilter(): readonly [
  SessionFilter,
  (change: Partial<SessionFilter>, replace?: boolean) => void,
] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const filter = useMemo(() => parseFilter(search), [search]);
  const change = useCallback(
    (part: Partial<SessionFilter>, replace = false) => {
      navigate(sessionsPath({ ...filter, ...part }), { replace });
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

/** Changes marks at once on the page, of those that may be; what the server says in the end holds. */
export function useMarks(isMarkable: (session: SessionItem) => boolean) {
  const client = useQueryClient();
  const { mutate } = useMutation({
    mutationFn: ({ sessions, change }: { sessions: readonly SessionItem[]; change: MarksChange }) =>
      Promise.all(sessions.map((session) => changeMarks(session.key, change))),
    onMutate: ({ sessions, change }) => {
      const keys = new Set(sessions.map((session) => session.key));
      client.setQueriesData<Pages>({ queryKey: ["sessions"] }, (data) => data && withMarks(data, keys, change));
    },
    onSettled: () =>
      Promise.all(
        ["sessions", "session", "facets"].map((name) => client.invalidateQueries({ queryKey: [name] })),
      ),
  });
  const mark = useCallback(
    (sessions: readonly SessionItem[], change: MarksChange) => {
      const own = sessions.filter(isMarkable);
      if (own.length > 0) mutate({ sessions: own, change });
    },
    [mutate, isMarkable],
  );
  const star = useCallback(
    (session: SessionItem) => {
      mark([session], { starred: !session.marks.starred });
    },
    [mark],
  );
  return { mark, star };
}

function withMarks(data: Pages, keys: ReadonlySet<string>, change: MarksChange): Pages {
  const { add_tags = [], remove_tags = [], ...rest } = change;
  const marked = (item: SessionItem): SessionItem => {
    if (!keys.has(item.key)) return item;
    const tags = [...new Set([...item.marks.tags, ...add_tags])].filter((tag) => !remove_tags.includes(tag));
    return { ...item, marks: { ...item.marks, ...rest, tags } };
  };
  return { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(marked) })) };
}
