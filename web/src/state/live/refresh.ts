/**
 * Which answers of the server are asked for again when something changed; nothing else is.
 *
 * What concerns one session is refreshed with the next frame. What sums up many (lists, the board, usage) is asked
 * for at intervals, however much happens. In a hidden tab only what shows from outside is asked for, the rest is
 * marked as old: it is loaded when the tab is looked at. Of a session that may be gone nothing is kept that nobody
 * looks at, and lists are loaded again however long they are.
 */

import type { Query, QueryClient } from "@tanstack/react-query";

import { liveStatus } from "@/api/live";
import type { LiveChange } from "@/api/live";
import type { ChangeKind } from "@/api/types";
import type { Call, Status } from "@/api/types";

import type { News } from "./batches";
import type { Live } from "./live";
import { Throttle } from "./throttle";

type Names = Readonly<Record<ChangeKind, readonly string[]>> & Readonly<Record<string, readonly string[]>>;

/** Of one session; the second part of their key names it. A newer server may tell of kinds that are not here. */
const OF_SESSION: Names = {
  "session-added": ["session", "turns", "actions"],
  "session-changed": [
    "session",
    "turns",
    "actions",
    "calls",
    "files",
    "agents",
    "tree",
    "sidechains",
    "agent-calls",
    "agent-flow",
    "find",
  ],
  "session-gone": ["session"],
  "session-forgotten": ["session", "turns", "actions"],
  "session-marked": ["session"],
  "session-access": ["session", "access"],
  "hook-delivered": ["session", "actions", "hook-events"],
};

/** Of many sessions, and how often they are asked for at most. */
const OF_MANY: Names = {
  "session-added": ["mission-control", "status", "sessions", "projects", "facets", "archive", "usage"],
  "session-changed": ["mission-control", "sessions", "usage"],
  "session-gone": ["mission-control", "status", "sessions", "projects", "facets", "archive"],
  "session-forgotten": [
    "mission-control",
    "status",
    "sessions",
    "sessions-by-title",
    "projects",
    "facets",
    "archive",
    "usage",
    "search",
    "few-hits",
  ],
  "session-marked": ["sessions", "facets"],
  "session-access": [
    "mission-control",
    "status",
    "sessions",
    "sessions-by-title",
    "projects",
    "facets",
    "usage",
    "search",
    "few-hits",
  ],
  "hook-delivered": ["mission-control", "status"],
};
/** It may be there no more, for whoever is told of it. */
const VANISHING: ReadonlySet<string> = new Set<ChangeKind>(["session-access", "session-forgotten"]);
const AT_MOST_EVERY: Readonly<Record<string, number>> = {
  "mission-control": 500,
  status: 1000,
  sessions: 1500,
  projects: 5000,
  facets: 5000,
  archive: 10_000,
  usage: 10_000,
};
/** So that the board and the counts of the title are right in a tab that one only sees the title of. */
const SHOWN_OUTSIDE = new Set(["mission-control", "status"]);
/** So long a list is not loaded again as a whole whenever something happens in one session. */
const MOST_PAGES = 3;

/** Keeps what `client` holds up with the server; returns how to stop. */
export function refreshQueries(client: QueryClient, live: Live): () => void {
  const throttle = new Throttle();
  const whole = new Set<string>();
  const many = (name: string, all: boolean) => {
    if (all) whole.add(name);
    throttle.run(name, AT_MOST_EVERY[name] ?? 1000, () => {
      const most = whole.delete(name) ? Infinity : MOST_PAGES;
      void client.invalidateQueries({
        predicate: (query) => query.queryKey[0] === name && pagesOf(query) <= most,
        refetchType: document.hidden && !SHOWN_OUTSIDE.has(name) ? "none" : "active",
      });
    });
  };
  const stops = [
    live.subscribeBehind((news) => {
      take(client, news, many);
    }),
    live.onFresh(() => {
      const now = Date.now();
      void client.invalidateQueries({
        predicate: ({ state }) => 0 < state.dataUpdatedAt && state.dataUpdatedAt < now,
      });
    }),
    refreshByStatus(client),
    whenBack(() => {
      many("status", false);
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

function take(client: QueryClient, news: News, many: (name: string, all: boolean) => void): void {
  const { sync } = news;
  if (sync) {
    // An answer that is under way may be from before this was told, and would put it back.
    if (client.isFetching({ queryKey: ["status"] }) > 0) many("status", false);
    client.setQueryData<Status>(["status"], (status) => status && { ...status, sync });
  }
  if (news.reset) {
    void client.invalidateQueries();
    return;
  }
  const names = new Set(news.changes.flatMap((change) => OF_MANY[change.kind as string] ?? []));
  if (news.states.length > 0) for (const name of SHOWN_OUTSIDE) names.add(name);
  const vanishing = news.changes.filter((change) => VANISHING.has(change.kind));
  for (const name of names) many(name, vanishing.length > 0);
  if (news.changes.length === 0) return;
  // What nobody looks at is loaded again when somebody does, and may.
  client.removeQueries({
    type: "inactive",
    predicate: ({ queryKey: [, session] }) =>
      vanishing.some((change) => session === change.session || session === change.session_id),
  });
  void client.invalidateQueries({
    predicate: (query) => news.changes.some((change) => isOld(query, change)),
    refetchType: document.hidden ? "none" : "active",
  });
}

function isOld({ queryKey: [name, session], state }: Query, change: LiveChange): boolean {
  if (session !== change.session && session !== change.session_id) return false;
  if (typeof name !== "string" || !(OF_SESSION[change.kind as string] ?? []).includes(name)) return false;
  // What a call has brought does not change any more once it is there.
  return name !== "calls" || ((state.data as readonly Call[] | undefined)?.some(isOpen) ?? false);
}

function isOpen(call: Call): boolean {
  return call.result == null;
}

function pagesOf({ state }: Query): number {
  return (state.data as { pages?: readonly unknown[] } | undefined)?.pages?.length ?? 0;
}

/** Runs something when a stream is open again: it makes up for changes, but not for how reading goes. */
function whenBack(run: () => void): () => void {
  let wasOpen = liveStatus.get() === "open";
  return liveStatus.subscribe(() => {
    if (liveStatus.get() !== "open") return;
    if (wasOpen) run();
    wasOpen = true;
  });
}

/** Where there is no stream, the status tells that something changed, if not what. */
function refreshByStatus(client: QueryClient): () => void {
  let known: number | undefined;
  return client.getQueryCache().subscribe((event) => {
    const query = event.query as Query;
    if (query.queryKey[0] !== "status") return;
    const change = (query.state.data as Status | undefined)?.last_change;
    const before = known;
    known = change;
    if (before === undefined || change === undefined || before === change || liveStatus.get() === "open")
      return;
    void client.invalidateQueries({
      predicate: (other) => other !== query && other.queryKey[0] !== "calls" && pagesOf(other) <= MOST_PAGES,
    });
  });
}
