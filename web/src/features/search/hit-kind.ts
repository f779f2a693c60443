/** What a hit is, as it is called and drawn. */

import type { Hit } from "@/api/types";
import { toolName } from "@/lib/names";
import type { IconName } from "@/ui/icons";
import { toolIcon } from "@/ui/tools";

export const KINDS: readonly (readonly [kind: Hit["kind"], name: string, icon: IconName])[] = [
  ["prompt", "Prompts", "ask"],
  ["answer", "Answers", "outline"],
  ["thinking", "Thinking", "think"],
  ["tool-input", "Tool input", "bash"],
  ["tool-output", "Tool output", "read"],
  ["summary", "Summaries", "compact"],
  ["notice", "Notices", "system"],
  ["title", "Titles", "tag"],
  ["hook", "Hooks", "hook"],
];

const NAMES: Readonly<Record<Hit["kind"], string>> = {
  prompt: "Prompt",
  answer: "Answer",
  thinking: "Thinking",
  "tool-input": "Tool input",
  "tool-output": "Tool output",
  summary: "Summary of what was compacted",
  notice: "Notice",
  title: "Title",
  hook: "Hook",
};

/** `Read output`, `Answer by a sub-agent`. */
export function nameOfHit(hit: Hit): string {
  const by = hit.agent_id === null ? "" : " by a sub-agent";
  if (hit.tool !== null && hit.kind.startsWith("tool-")) {
    const { name, server } = toolName(hit.tool);
    const what = hit.kind === "tool-input" ? "input" : hit.is_error ? "failed" : "output";
    return `${name} ${what}${server === null ? "" : `, ${server}`}${by}`;
  }
  return NAMES[hit.kind] + by;
}

export function iconOfHit(hit: Hit): IconName {
  if (hit.tool !== null) return toolIcon(hit.tool, hit.tool.startsWith("mcp__") ? "mcp" : "builtin");
  if (hit.agent_id !== null) return "agent";
  return KINDS.find(([kind]) => kind === hit.kind)?.[2] ?? "unknown";
}

export function colourOfHit(hit: Hit): string {
  if (hit.is_error) return "c-error";
  return hit.agent_id === null ? "c-builtin" : "c-agent";
}

/** Whether its text is code or output, set in the font of those. */
export function isCode(hit: Hit): boolean {
  return hit.kind === "tool-input" || hit.kind === "tool-output" || hit.kind === "hook";
}
