/** What came of a call, in few words. Pure. */

import type { Call } from "@/api/types";
import { compareLines, countChanges, readPatch } from "@/lib/diff";
import type { DiffLine } from "@/lib/diff";
import { formatCounted } from "@/lib/format";
import { fieldOf, listOf, numberOf, textOf } from "@/lib/json";
import { stripTerminal } from "@/lib/visible";

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

function countOf(call: Call): string | null {
  const details = call.result?.details;
  const lines = numberOf(fieldOf(details, "file"), "numLines");
  if (call.name === "Read" && lines !== null) return formatCounted(lines, "line");
  if (call.name === "Read" && call.result && !call.result.truncated) {
    return call.result.images.length > 0 ? "image" : formatCounted(call.result.text.split("\n").length, "line");
  }
  const files = numberOf(details, "numFiles");
  return files === null ? null : formatCounted(files, "file");
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
  if (edits.length > 0) return edits.flat();
  const content = textOf(call.input, "content");
  return content === null ? null : compareLines("", content);
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
