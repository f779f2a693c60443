/** The messages of a session, loaded where one looks, and the rows that are made of them. */

import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";

import { agentsQuery, getTimeline, treeQuery } from "@/api/conversation";
import type { Agent, Branch, Turn } from "@/api/types";
import { useStore } from "@/state/binding";
import { findWays } from "@/state/flow/branches";
import type { Choices } from "@/state/flow/branches";
import { Flow } from "@/state/flow/flow";
import { createFolds } from "@/state/flow/folds";
import { buildRows } from "@/state/flow/rows";
import { useLive } from "@/state/live/use-live";
import { level } from "@/state/settings";

const NO_AGENTS: readonly Agent[] = [];
const NO_BRANCHES: readonly Branch[] = [];

/** `agent`: of one sub-agent alone. */
export function useFlow(session: string, agent: string | null, turns: readonly Turn[]) {
  const [flow] = useState(
    () => new Flow((which, source, signal) => getTimeline(session, which, { source, agent }, signal)),
  );
  const [folds] = useState(createFolds);
  const [runs] = useState(createFolds);
  const [choices, setChoices] = useState<Choices>(new Map());
  const [asked, setAsked] = useState<number | null>(null);
  const listed = useQuery(agentsQuery(session)).data ?? NO_AGENTS;
  const branches = useQuery({ ...treeQuery(session), enabled: agent === null }).data?.branches ?? NO_BRANCHES;
  const agents = useMemo(() => new Map(listed.map((each) => [each.id, each])), [listed]);
  const ways = useMemo(() => (branches.length > 1 ? findWays(branches, choices) : null), [branches, choices]);
  const placed = useMemo(
    () =>
      new Set(
        listed.filter((each) => each.inline && each.call !== null && each.id !== agent).map((each) => each.id),
      ),
    [listed, agent],
  );
  const state = useStore(flow.state);
  const shown = useStore(level);
  const openRuns = useStore(runs);
  const { layout, hooks, notes, source } = state;
  // Branches and turns are those of the transcript.
  const alone = agent !== null || (source !== null && listed.some((each) => each.source === source));
  const rows = useMemo(
    () =>
      buildRows(layout, {
        level: shown,
        turns: alone ? [] : turns,
        openRuns,
        hooks,
        notes,
        ways: alone ? null : ways,
        placed,
        asked,
      }),
    [layout, shown, turns, openRuns, hooks, notes, ways, placed, alone, asked],
  );
  useLive(session, () => {
    void flow.refresh();
  });
  useEffect(
    () => () => {
      flow.close();
    },
    [flow],
  );
  const choose = useCallback((fork: number, branch: number) => {
    setChoices((before) => new Map(before).set(fork, branch));
  }, []);
  return {
    flow,
    folds,
    runs,
    state,
    rows,
    agents,
    branches,
    ways: alone ? null : ways,
    choose,
    setChoices,
    setAsked,
    alone,
  };
}
