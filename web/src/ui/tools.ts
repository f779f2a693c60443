/** Which glyph a tool has. */

import type { Category } from "@/lib/action-filter";

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

const CATEGORIES: Readonly<Record<Category, IconName>> = {
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

export function toolIcon(name: string, category: Category): IconName {
  return TOOLS[name] ?? categoryIcon(category);
}

export function categoryIcon(category: Category | null): IconName {
  return CATEGORIES[category ?? "system"];
}

/** The class that colours a category; the shape alone tells it apart. */
export function categoryClass(category: Category | null): string {
  return category === "hook_progress" ? "c-hookp" : `c-${category ?? "system"}`;
}
