/** What the page keeps of the server's answers, by key; `features/` asks for these and nothing else. */

import { infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";

import type { SessionFilter } from "@/lib/routes";

import { getSession, getStatus, listCallsOf, listProjects, listSessions, listTurns } from "./client";
import { connection } from "./connection";
import { ApiError } from "./errors";
import { liveStatus } from "./live";

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
