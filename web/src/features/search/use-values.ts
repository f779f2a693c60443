/** Values that a filter may have, for completion. */

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { facetsQuery } from "@/api/lists";
import { projectsQuery } from "@/api/queries";
import type { Hit } from "@/api/types";
import { useMachineNames } from "@/features/sharing/use-machine-names";
import { matchText } from "@/lib/fuzzy";
import { baseName } from "@/lib/names";
import { NO_FILTER } from "@/lib/routes";
import { tally } from "@/state/hit-groups";
import type { Filter } from "@/state/query";

const FIXED: Readonly<Partial<Record<Filter, readonly string[]>>> = {
  role: ["user", "assistant", "tool_use", "tool_result", "system", "progress", "summary"],
  category: [
    "builtin",
    "agent",
    "mcp",
    "skill",
    "hook",
    "hook_progress",
    "error",
    "system",
    "snapshot",
    "queue",
  ],
  kind: ["prompt", "answer", "thinking", "tool-input", "tool-output", "summary", "notice", "title", "hook"],
  is: ["error", "sidechain"],
  after: ["today", "yesterday", "7d", "30d", "1y"],
  before: ["today", "yesterday", "7d", "30d", "1y"],
};
const TOOLS = [
  "Bash",
  "Read",
  "Edit",
  "Write",
  "Grep",
  "Glob",
  "Task",
  "WebFetch",
  "WebSearch",
  "TodoWrite",
  "mcp__*",
];
const MOST = 8;
/** Filters whose values the lists of sessions know. */
const LISTED: ReadonlySet<Filter | null> = new Set<Filter | null>(["model", "branch", "person", "machine"]);

/** For the filter that is being written: what may stand there, the likeliest first. */
export function useValues(name: Filter | null, begun: string, hits: readonly Hit[]): readonly string[] {
  const projects = useQuery({ ...projectsQuery(), enabled: name === "project" }).data?.items;
  const facets = useQuery({ ...facetsQuery(NO_FILTER), enabled: LISTED.has(name) }).data;
  const machineName = useMachineNames();
  return useMemo(() => {
    if (name === null) return [];
    const found: Readonly<Partial<Record<Filter, readonly string[]>>> = {
      project: projects?.flatMap(({ path }) => (path === null ? [] : [baseName(path)])) ?? [],
      model: facets?.models.map((model) => model.name) ?? [],
      branch: facets?.branches.map((branch) => branch.name) ?? [],
      person: ["me", ...(facets?.persons.flatMap(({ name: person }) => person || []) ?? [])],
      machine: facets?.machines.map(({ name: origin }) => machineName?.(origin) ?? origin) ?? [],
      tool: [...new Set([...tally(hits, (hit) => hit.tool).map((tool) => tool.name), ...TOOLS])],
    };
    return [...new Set(found[name] ?? FIXED[name] ?? [])]
      .flatMap((value) => {
        const match = matchText(begun, value);
        return match ? [{ value, score: match.score }] : [];
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, MOST)
      .map(({ value }) => value);
  }, [name, begun, hits, projects, facets, machineName]);
}
