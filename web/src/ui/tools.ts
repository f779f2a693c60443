/** Which glyph a tool has. */

import type { IconName } from "./icons";

const TOOLS: Readonly<Record<string, IconName>> = {
  Bash: "bash",
  BashOutput: "bash",
  KillShell: "bash",
  KillBash: "bash",
  Read: "read",
  NotebookRead: "read",
  Write: "write",
  Edit: "edit",
  MultiEdit: "edit",
  NotebookEdit: "edit",
  Grep: "grep",
  LS: "glob",
  Glob: "glob",
  TodoWrite: "todo",
  TodoRead: "todo",
  TaskCreate: "todo",
  TaskUpdate: "todo",
  TaskList: "todo",
  WebFetch: "web",
  WebSearch: "web",
  AskUserQuestion: "ask",
  ExitPlanMode: "plan",
  EnterPlanMode: "plan",
};

const CATEGORIES: Readonly<Record<string, IconName>> = {
  agent: "agent",
  builtin: "builtin",
  error: "error",
  hook: "hook",
  hook_progress: "hookp",
  mcp: "mcp",
  queue: "queue",
  skill: "skill",
  snapshot: "snapshot",
  system: "system",
};

export function toolIcon(name: string, category: string): IconName {
  return TOOLS[name] ?? categoryIcon(category);
}

export function categoryIcon(category: string | null): IconName {
  return CATEGORIES[category ?? "system"] ?? "unknown";
}

/** The class that colours a category; the shape alone tells it apart. */
export function categoryClass(category: string | null): string {
  return category === "hook_progress"
    ? "c-hookp"
    : `c-${category && CATEGORIES[category] ? category : "system"}`;
}
