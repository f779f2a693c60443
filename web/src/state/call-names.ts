/** What a call is called on the page, and what is said of it in its row. Pure. */

import type { Call } from "@/api/types";
import { formatCounted } from "@/lib/format";
import { listOf, textOf } from "@/lib/json";
import { toolName } from "@/lib/names";

import { stepsOf } from "./call-shapes";

export interface CallName {
  readonly name: string;
  readonly argument: string;
  /** Said besides: a description, a folder. */
  readonly aside: string | null;
  /** Whether the argument is words; else it is code, and set like it. */
  readonly words: boolean;
}

const NAMES: Readonly<Record<string, string>> = {
  AskUserQuestion: "Question",
  ExitPlanMode: "Plan",
  exit_plan_mode: "Plan",
  EnterPlanMode: "Plan mode",
  TodoWrite: "Todos",
  TodoRead: "Todos",
  TaskCreate: "Task created",
  TaskUpdate: "Task changed",
  TaskList: "Tasks",
  WebFetch: "Fetch",
  WebSearch: "Search",
};
const WORDY = new Set(["Task", "Agent", "WebSearch", "Skill", "TaskCreate", "TaskUpdate", "Monitor"]);

export function nameOf(call: Call): CallName {
  const { name, server } = toolName(call.name);
  const shown = Object.hasOwn(NAMES, call.name) ? (NAMES[call.name] ?? name) : name;
  if (server !== null) return { name: shown, argument: server, aside: null, words: true };
  const own = argumentOf(call);
  return {
    name: shown,
    argument: own ?? call.title,
    aside: asideOf(call),
    words: own !== null || WORDY.has(call.name),
  };
}

/** Where the title is only the input again, it is said in words. */
function argumentOf(call: Call): string | null {
  switch (call.name) {
    case "AskUserQuestion":
      return formatCounted(listOf(call.input, "questions").length, "question");
    case "TodoWrite":
    case "TaskList": {
      const steps = stepsOf(call);
      const now = steps.find((step) => step.mark === "work");
      return steps.length === 0 ? null : (now?.text ?? formatCounted(steps.length, "step"));
    }
    case "ExitPlanMode":
    case "exit_plan_mode":
      return firstLine(textOf(call.input, "plan"));
    case "TaskCreate":
      return textOf(call.input, "subject");
    case "TaskUpdate": {
      const task = textOf(call.input, "taskId");
      const status = textOf(call.input, "status");
      return task === null ? null : `number ${task}${status === null ? "" : `, ${status.replace("_", " ")}`}`;
    }
    case "Task":
    case "Agent":
      return textOf(call.input, "description");
    default:
      return null;
  }
}

function asideOf(call: Call): string | null {
  if (call.name === "Bash" || call.name === "PowerShell") return textOf(call.input, "description");
  if (call.name === "Grep") {
    const path = textOf(call.input, "path") ?? textOf(call.input, "glob");
    return path === null || call.title.includes(path) ? null : `in ${path}`;
  }
  return null;
}

function firstLine(text: string | null): string | null {
  const line = text
    ?.trim()
    .split("\n", 1)[0]
    ?.replace(/^#+\s*/, "");
  return line === undefined || line === "" ? null : line;
}
