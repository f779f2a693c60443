/** What came of a call, in few words. Pure. */

import type { Call } from "@/api/types";
import { compareLines, countChanges, readPatch } from "@/lib/diff";
import type { DiffLine } from "@/lib/diff";
import { formatCounted } from "@/lib/format";
import { fieldOf, listOf, numberOf, textOf } from "@/lib/json";
import { stripTerminal } from "@/lib/visible";

import { hitsOf, stepsOf, webResultsOf } from "./call-shapes";

export interface Outcome {
  readonly kind: "quiet" | "failed" | "running" | "changed";
  readonly text: string;
  readonly added?: number;
  readonly removed?: number;
}

const LONGEST_REASON = 48;
const EXIT_CODE = /^(?:Error:\s*)?Exit code:?\s*(\d+)/i;
const ERROR_TAG = /<\/?tool_use_error>/g;

export function outcomeOf(call: Call): Outcome {
  switch (call.state) {
    case "failed":
      return { kind: "failed", text: reasonOf(call) };
    case "rejected":
      return { kind: "quiet", text: "turned down" };
    case "interrupted":
      return { kind: "quiet", text: "interrupted" };
    case "unresolved":
      return { kind: "quiet", text: "no result in the file" };
    case "placeholder":
      return { kind: "running", text: "in the background" };
    case "resolved":
      return successOf(call);
  }
}

function reasonOf(call: Call): string {
  const text = stripTerminal(call.result?.text ?? "")
    .replace(ERROR_TAG, "")
    .trim();
  const code = EXIT_CODE.exec(text)?.[1];
  if (code !== undefined) return `exit ${code}`;
  const [line = ""] = text.split("\n");
  const short = line.replace(/^Error:\s*/, "");
  if (!short) return "failed";
  return short.length > LONGEST_REASON ? `${short.slice(0, LONGEST_REASON - 1).trimEnd()}…` : short;
}

function successOf(call: Call): Outcome {
  const changes = changesOf(call);
  if (changes) {
    const { added, removed } = countChanges(changes);
    return { kind: "changed", text: `${added} added, ${removed} removed`, added, removed };
  }
  return { kind: "quiet", text: countOf(call) ?? "" };
}

type Counter = (call: Call) => string | null;

const COUNTERS: Readonly<Record<string, Counter>> = {
  Read: countRead,
  Grep: countHits,
  Glob: (call) => counted(numberOf(call.result?.details, "numFiles"), "file"),
  Bash: countTests,
  BashOutput: (call) => textOf(call.result?.details, "status"),
  WebSearch: (call) => counted(webResultsOf(call).length || null, "result"),
  WebFetch: (call) => {
    const code = numberOf(call.result?.details, "code");
    return code === null || code === 200 ? null : String(code);
  },
  AskUserQuestion: (call) => (call.result ? "answered" : null),
  ExitPlanMode: (call) => (call.result ? "approved" : null),
  TodoWrite: countSteps,
  TaskList: countSteps,
};

function countOf(call: Call): string | null {
  const counter = Object.hasOwn(COUNTERS, call.name) ? COUNTERS[call.name] : undefined;
  return counter?.(call) ?? null;
}

function counted(count: number | null, one: string): string | null {
  return count === null ? null : formatCounted(count, one);
}

function countRead({ result }: Call): string | null {
  const lines = numberOf(fieldOf(result?.details, "file"), "numLines");
  if (lines !== null) return formatCounted(lines, "line");
  if (!result || result.truncated) return null;
  return result.images.length > 0 ? "image" : formatCounted(result.text.split("\n").length, "line");
}

function countHits(call: Call): string | null {
  const found = hitsOf(call);
  if (!found) return counted(numberOf(call.result?.details, "numFiles"), "file");
  const hits = found.reduce((sum, { lines }) => sum + lines.filter((line) => line.hit).length, 0);
  return found.length > 1
    ? `${formatCounted(hits, "hit")} in ${formatCounted(found.length, "file")}`
    : formatCounted(hits, "hit");
}

function countSteps(call: Call): string | null {
  const steps = stepsOf(call);
  const done = steps.filter((step) => step.mark === "done").length;
  return steps.length > 0 ? `${done} of ${steps.length} done` : null;
}

const TESTS = /(?:^|[\s=])(\d+) passed\b/;

/** What test runners say at the end of what they print. */
function countTests({ result }: Call): string | null {
  const passed = TESTS.exec(stripTerminal(result?.text.slice(-400) ?? ""))?.[1];
  return passed === undefined ? null : `${passed} passed`;
}

/** What a call changed in a file; null if it is not that sort of call, or its body is not here. */
export function changesOf(call: Call): DiffLine[] | null {
  if (!call.changes_file) return null;
  const patch = readPatch(fieldOf(call.result?.details, "structuredPatch"));
  if (patch) return patch;
  const edits = [call.input, ...listOf(call.input, "edits")].flatMap((edit) => {
    const before = textOf(edit, "old_string");
    const after = textOf(edit, "new_string");
    return before === null || after === null ? [] : [compareLines(before, after)];
  });
  if (edits.length > 0) return edits.flatMap(apart);
  const content = textOf(call.input, "content") ?? textOf(call.input, "new_source");
  return content === null ? null : compareLines("", content);
}

/** Edits of one call stand apart: their numbers do not go on from each other. */
function apart(lines: readonly DiffLine[], at: number): readonly DiffLine[] {
  return at === 0 ? lines : [{ kind: "gap", old: null, new: null, text: "another place" }, ...lines];
}

const NUMBERED = /^\s*(\d+)(?:→|\t)(.*)$/;

/** The lines of a file that was read, with their numbers; null if the text is not in that form. */
export function readLines(text: string): (readonly [string, string])[] | null {
  const lines = text.split("\n");
  const first = NUMBERED.exec(lines[0] ?? "");
  if (!first) return null;
  return lines.map((line) => {
    const match = NUMBERED.exec(line);
    return match ? [match[1] ?? "", match[2] ?? ""] : ["", line];
  });
}
