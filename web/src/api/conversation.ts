/** What a conversation is made of: windows of its timeline, its branches, agents, sidechain and hits in it. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { request, requestText, sessionUrl } from "./client";
import type { WindowRequest } from "./client";
import type {
  Agent,
  Agents,
  Call,
  CallPage,
  Hit,
  Hits,
  HookItem,
  MessageWindow,
  NoteItem,
  Sidechains,
  TimelineWindow,
  Tree,
} from "./types";

const MESSAGES_AT_ONCE = 80;
const HITS_AT_ONCE = 100;
const LONG_FRESH_MS = 60_000;

/** Messages, and what happened under them: hook events, and notes. */
export type FlowWindow = MessageWindow & {
  readonly hooks?: readonly HookItem[];
  readonly notes?: readonly NoteItem[];
};

/** Which file of a session: by its name, or as a sub-agent's; neither: its transcript, or where a uuid stands. */
export interface FlowPlace {
  readonly source: string | null;
  readonly agent: string | null;
}

export async function getTimeline(
  session: string,
  which: WindowRequest,
  { source, agent }: FlowPlace,
  signal?: AbortSignal,
  limit = MESSAGES_AT_ONCE,
): Promise<FlowWindow> {
  const query = new URLSearchParams({ limit: String(limit) });
  if (agent !== null) query.set("agent", agent);
  else if (source !== null) query.set("source", source);
  for (const [name, value] of Object.entries(which)) if (name !== "first") query.set(name, String(value));
  return divide(await request<TimelineWindow>(`${sessionUrl(session)}/timeline?${query}`, signal));
}

function divide({ items, total, before, after, revision }: TimelineWindow): FlowWindow {
  return {
    items: items.flatMap((item) => (item.kind === "message" ? [item.message] : [])),
    hooks: items.flatMap((item) => (item.kind === "hook" ? [item.hook] : [])),
    notes: items.flatMap((item) => (item.kind === "note" ? [item.note] : [])),
    total,
    before,
    after,
    revision,
  };
}

/** A message as its file has it, line by line. */
export const rawQuery = (session: string, index: number, source: string) =>
  queryOptions({
    queryKey: ["raw", session, source, index],
    queryFn: ({ signal }) =>
      requestText(`${sessionUrl(session)}/messages/${index}/raw?source=${encodeURIComponent(source)}`, signal),
    staleTime: LONG_FRESH_MS,
  });

export const treeQuery = (session: string) =>
  queryOptions({
    queryKey: ["tree", session],
    queryFn: ({ signal }) => request<Tree>(`${sessionUrl(session)}/tree?limit=1`, signal),
  });

export const agentsQuery = (session: string) =>
  queryOptions({
    queryKey: ["agents", session],
    queryFn: ({ signal }) => listAgents(session, signal),
  });

async function listAgents(session: string, signal: AbortSignal): Promise<readonly Agent[]> {
  const all: Agent[] = [];
  for (let cursor: string | null = "0"; cursor;) {
    const page: Agents = await request<Agents>(
      `${sessionUrl(session)}/agents?limit=500&cursor=${cursor}`,
      signal,
    );
    all.push(...page.items);
    cursor = page.next;
  }
  return all;
}

export const GROUPS_AT_ONCE = 500;

/** A page of the groups of the sidechain panel; what is in them is loaded when they are opened. */
export const sidechainsQuery = (session: string, page: number) =>
  queryOptions({
    queryKey: ["sidechains", session, page],
    queryFn: ({ signal }) =>
      request<Sidechains>(
        `${sessionUrl(session)}/sidechains?limit=${GROUPS_AT_ONCE}&cursor=${page * GROUPS_AT_ONCE}`,
        signal,
      ),
  });

/** The calls of a sub-agent, without what went in and came out. */
export const agentCallsQuery = (session: string, source: string) =>
  queryOptions({
    queryKey: ["agent-calls", session, source],
    queryFn: async ({ signal }) =>
      (
        await request<CallPage>(
          `${sessionUrl(session)}/calls?bodies=false&limit=200&source=${encodeURIComponent(source)}`,
          signal,
        )
      ).items,
    staleTime: LONG_FRESH_MS,
  });

/** The calls by which sub-agents were started, to know where in the conversation these stand. */
export async function listStarts(session: string, source: string): Promise<readonly Call[]> {
  const query = new URLSearchParams({ category: "agent", bodies: "false", limit: "200", source });
  return (await request<CallPage>(`${sessionUrl(session)}/calls?${query}`)).items;
}

/** All hits in one session, as far as anybody steps through them. */
export const findQuery = (session: string, text: string) =>
  queryOptions({
    queryKey: ["find", session, text],
    queryFn: async ({ signal }): Promise<{ readonly hits: readonly Hit[]; readonly more: boolean }> => {
      const query = new URLSearchParams({
        q: `session:${session} ${text}`,
        limit: String(HITS_AT_ONCE),
        typing: "true",
      });
      const found = await request<Hits>(`/api/search?${query}`, signal);
      return { hits: found.items, more: found.next !== null };
    },
    placeholderData: (previous) => previous,
    enabled: text.trim().length > 1,
  });

const AGENT_MESSAGES = 60;

/** What a sub-agent said and did, from its beginning or around one message, in both directions. */
export const agentFlowQuery = (session: string, agent: string, around: number | null) =>
  infiniteQueryOptions({
    queryKey: ["agent-flow", session, agent, around],
    queryFn: ({ pageParam, signal }) =>
      getTimeline(session, pageParam, { source: null, agent }, signal, AGENT_MESSAGES),
    initialPageParam: startAt(around),
    getNextPageParam: ({ after }): WindowRequest | undefined => (after === null ? undefined : { after }),
    getPreviousPageParam: ({ before }): WindowRequest | undefined => (before === null ? undefined : { before }),
  });

function startAt(around: number | null): WindowRequest {
  return around === null ? { first: true } : { around };
}
