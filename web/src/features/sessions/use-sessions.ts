/** The sessions that a filter lets through, as far as they are loaded. */

import { useInfiniteQuery, useMutation, useQueries, useQueryClient } from "@tanstack/react-query";
import type { InfiniteData, UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { useLocation, useSearch } from "wouter";

import { changeMarks } from "@/api/client";
import type { MarksChange } from "@/api/client";
import { groupQuery, sessionsQuery } from "@/api/queries";
import type { SessionItem, SessionPage } from "@/api/types";
import { parseFilter, sessionsPath } from "@/lib/routes";
import type { SessionFilter } from "@/lib/routes";
import { groupOf } from "@/state/session-rows";
import type { OpenedGroup } from "@/state/session-rows";

type Pages = InfiniteData<SessionPage, string | null>;

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
  const { total = 0, rows = 0 } = data?.pages[0] ?? {};
  return { ...query, sessions, total, rows };
}

/** Groups that were opened, each with how many pages of it are wanted, and what is loaded of them. */
export function useGroups(filter: SessionFilter, sessions: readonly SessionItem[]) {
  const client = useQueryClient();
  const [wanted, setWanted] = useState<ReadonlyMap<string, number>>(new Map());
  const groups = useMemo(
    () =>
      sessions.flatMap((session) => {
        const name = groupOf(session);
        const pages = name === null ? undefined : wanted.get(name);
        const { series, person } = session;
        return name === null || pages === undefined || series === null ? [] : [{ name, series, person, pages }];
      }),
    [sessions, wanted],
  );
  const combine = useCallback(
    (results: readonly UseQueryResult<Pages>[]) =>
      new Map(
        results.map(({ data, isError }, at): [string, OpenedGroup] => [
          groups[at]?.name ?? "",
          {
            sessions: data?.pages.flatMap((page) => page.items) ?? [],
            total: data?.pages.at(-1)?.total ?? null,
            failed: isError,
          },
        ]),
      ),
    [groups],
  );
  const queries = groups.map((group) => groupQuery(client, filter, group, group.pages));
  const opened = useQueries({ queries, combine });
  const toggle = useCallback((session: SessionItem) => {
    const name = groupOf(session);
    if (name === null) return;
    setWanted((before) => {
      const next = new Map(before);
      if (!next.delete(name)) next.set(name, 1);
      return next;
    });
  }, []);
  const more = useCallback(
    (name: string, failed: boolean) => {
      if (failed) void client.invalidateQueries({ queryKey: ["sessions"] });
      else setWanted((before) => new Map(before).set(name, (before.get(name) ?? 0) + 1));
    },
    [client],
  );
  return { opened, toggle, more };
}

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
