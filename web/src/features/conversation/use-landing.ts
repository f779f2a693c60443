/** Going to a place that an address or a search names: in the conversation, or within its sub-agents. */

import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { agentsQuery, getTimeline, listStarts } from "@/api/conversation";
import type { Agent } from "@/api/types";
import type { MessagePlace } from "@/lib/routes";
import type { Store } from "@/lib/store";
import { open } from "@/state/flow/folds";
import type { Folds } from "@/state/flow/folds";
import { callKey } from "@/state/flow/rows";

import type { Landing } from "./context";

interface LandingOptions {
  readonly session: string;
  readonly folds: Folds;
  readonly landing: Store<Landing | null>;
  readonly goTo: (target: string | number | null, call?: number | null) => Promise<boolean>;
}

/**
 * Goes to a message. One of a sub-agent is shown where it stands, in the calls that lead to it; where no call is
 * known that started the agent, its file is shown alone.
 */
export function useLanding({ session, folds, landing, goTo }: LandingOptions) {
  const client = useQueryClient();
  return useCallback(
    async (message: string, { source, call }: MessagePlace): Promise<void> => {
      const within = source === null ? null : await findAgent(client, session, source);
      if (!within) {
        await goTo(message, call);
        return;
      }
      const way = wayTo(within.agent, within.agents);
      const root = way[0];
      const start = root && (await findStart(session, root));
      const index = await findIndex(session, message, within.agent.source);
      if (!start || index === null) {
        await goTo(message, call);
        return;
      }
      open(folds, ...way.map((agent) => callKey({ source: agent.call_source ?? "", index: agent.call ?? -1 })));
      if (call !== null) open(folds, callKey({ source: within.agent.source ?? "", index: call }));
      landing.set({ agent: within.agent.id, message: index });
      await goTo(start.message, start.call);
    },
    [client, session, folds, landing, goTo],
  );
}

async function findAgent(client: ReturnType<typeof useQueryClient>, session: string, source: string) {
  const agents = await client.query({ ...agentsQuery(session), staleTime: "static" }).catch(() => []);
  const agent = agents.find((each) => each.source === source);
  return agent ? { agent, agents } : null;
}

/** The agents that one has to go through, from the one that the session started. */
export function wayTo(agent: Agent, agents: readonly Agent[]): readonly Agent[] {
  const way: Agent[] = [];
  for (let at: Agent | undefined = agent; at && !way.includes(at);) {
    way.unshift(at);
    const parent: string | null = at.parent_id;
    at = parent === null ? undefined : agents.find((each) => each.id === parent);
  }
  return way;
}

/** Where in the conversation an agent was started. */
async function findStart(
  session: string,
  { call, call_source }: Agent,
): Promise<{ readonly message: number; readonly call: number } | null> {
  if (call === null || call_source === null) return null;
  const starts = await listStarts(session, call_source).catch(() => []);
  const message = starts.find((start) => start.index === call)?.message ?? null;
  return message === null ? null : { message, call };
}

async function findIndex(session: string, message: string, source: string | null): Promise<number | null> {
  const window = await getTimeline(session, { around: message }, { source, agent: null }).catch(() => null);
  return window?.items.find((item) => item.uuid === message)?.index ?? null;
}
