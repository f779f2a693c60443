/** Lines that were taken out and put in. */

import { isRecord, listOf, numberOf } from "./json";

export interface DiffLine {
  readonly kind: "same" | "add" | "del" | "gap";
  readonly old: number | null;
  readonly new: number | null;
  readonly text: string;
}

/** Texts of more lines than this are not compared line by line: all of it goes out and in. */
const MOST_COMPARED = 600;

/** Claude Code's own patch of a file (`structuredPatch`); null if it is none. */
export function readPatch(value: unknown): DiffLine[] | null {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isRecord)) return null;
  return value.flatMap((hunk, at): DiffLine[] => {
    const lines = readHunk(hunk);
    return at === 0 ? lines : [{ kind: "gap", old: null, new: null, text: "further down" }, ...lines];
  });
}

function readHunk(hunk: unknown): DiffLine[] {
  let before = numberOf(hunk, "oldStart") ?? 1;
  let after = numberOf(hunk, "newStart") ?? 1;
  return listOf(hunk, "lines")
    .filter((line) => typeof line === "string")
    .map((line) => {
      const text = line.slice(1);
      if (line.startsWith("+")) return { kind: "add", old: null, new: after++, text };
      if (line.startsWith("-")) return { kind: "del", old: before++, new: null, text };
      return { kind: "same", old: before++, new: after++, text };
    });
}

/** What one text has to lose and to get to become the other; numbers count from the text's own first line. */
export function compareLines(before: string, after: string): DiffLine[] {
  const old = before === "" ? [] : before.split("\n");
  const now = after === "" ? [] : after.split("\n");
  const steps = old.length + now.length > MOST_COMPARED ? replaceAll(old, now) : shortest(old, now);
  let i = 1;
  let j = 1;
  return steps.map(([kind, text]) => ({
    kind,
    old: kind === "add" ? null : i++,
    new: kind === "del" ? null : j++,
    text,
  }));
}

export function countChanges(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  return {
    added: lines.filter((line) => line.kind === "add").length,
    removed: lines.filter((line) => line.kind === "del").length,
  };
}

type Step = readonly ["same" | "add" | "del", string];

function replaceAll(old: readonly string[], now: readonly string[]): Step[] {
  return [...old.map((line): Step => ["del", line]), ...now.map((line): Step => ["add", line])];
}

/** By the longest common subsequence of lines. */
function shortest(old: readonly string[], now: readonly string[]): Step[] {
  const width = now.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    const out = old[i];
    const into = now[j];
    if (out !== undefined && out === into) {
      steps.push(["same", out]);
      i += 1;
      j += 1;
    } else if (out !== undefined && (into === undefined || at(i + 1, j) >= at(i, j + 1))) {
      steps.push(["del", out]);
      i += 1;
    } else {
      steps.push(["add", into ?? ""]);
      j += 1;
    }
  }
  return steps;
}
