/** What the page keeps of the server's answers, by key; `features/` asks for these and nothing else. */

import { infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";
import type { InfiniteData } from "@tanstack/react-query";

import type { SessionFilter } from "@/lib/routes";

import { getSession, getStatus, listCallsOf, listProjects, listSessions, listTurns } from "./client";
import type { SessionGroup } from "./client";
import { connection } from "./connection";
import { ApiError } from "./errors";
import { liveStatus } from "./live";
import type { SessionPage } from "./types";

export function createQueryClient(): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        // What the server refuses it refuses again; while it is gone, `connection` asks for it.
        retry: (failures, error) => !(error instanceof ApiError) && failures < 2,
        // The server stands on this machine; a network that is down is no reason not to ask it.
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
  let before = connection.get();
  connection.subscribe(() => {
    const now = connection.get();
    if (now === "ok" && before !== "ok") void client.invalidateQueries();
    before = now;
  });
  return client;
}

export const sessionsQuery = (filter: SessionFilter) =>
  infiniteQueryOptions({
    queryKey: ["sessions", filter],
    queryFn: ({ pageParam, signal }) => listSessions(filter, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: (previous) => previous,
  });

type GroupPages = InfiniteData<SessionPage, string | null>;

/** The sessions of a group, as many pages of them; with those of one page less until they are there. */
export const groupQuery = (client: QueryClient, filter: SessionFilter, group: SessionGroup, pages: number) => {
  const keyOf = (count: number) => ["sessions", filter, group.series, group.person, count];
  return queryOptions<GroupPages>({
    queryKey: keyOf(pages),
    queryFn: async ({ signal }) => {
      const found: SessionPage[] = [];
      let cursor: string | null = null;
      do {
        const page: SessionPage = await listSessions(filter, cursor, signal, group);
        found.push(page);
        cursor = page.next;
      } while (cursor !== null && found.length < pages);
      return { pages: found, pageParams: [] };
    },
    placeholderData: () => client.getQueryData<GroupPages>(keyOf(pages - 1)),
  });
};

export const projectsQuery = () =>
  queryOptions({ queryKey: ["projects"], queryFn: ({ signal }) => listProjects(signal) });

const STATUS_EVERY_MS = 3000;
const STATUS_RARELY_MS = 60_000;

/** How the server is doing; asked again and again where the server cannot tell of changes by itself. */
export const statusQuery = () =>
  queryOptions({
    queryKey: ["status"],
    queryFn: ({ signal }) => getStatus(signal),
    refetchInterval: () => (liveStatus.get() === "open" ? STATUS_RARELY_MS : STATUS_EVERY_MS),
    staleTime: 0,
  });

export const sessionQuery = (session: string) =>
  queryOptions({ queryKey: ["session", session], queryFn: ({ signal }) => getSession(session, signal) });

export const turnsQuery = (session: string) =>
  queryOptions({ queryKey: ["turns", session], queryFn: ({ signal }) => listTurns(session, signal) });

export const callsOfQuery = (session: string, message: string) =>
  queryOptions({
    queryKey: ["calls", session, message],
    queryFn: ({ signal }) => listCallsOf(session, message, signal),
    staleTime: 60_000,
  });
