/** What changed within a line: the words that are only in one of two. Pure. */

import type { DiffLine } from "./diff";

/** Stretches of a line; `changed` ones are marked. */
export interface Piece {
  readonly text: string;
  readonly changed: boolean;
}

const WORD = /[\p{L}\p{N}_]+|\s+|./gsu;
const MOST_WORDS = 160;
/** Lines that have less than this in common are two lines, not one that was changed. */
const COMMON_ENOUGH = 0.3;

/** For each line that was changed in place, its pieces; lines that came or went as a whole have none. */
export function markWords(lines: readonly DiffLine[]): ReadonlyMap<DiffLine, readonly Piece[]> {
  const marked = new Map<DiffLine, readonly Piece[]>();
  for (let at = 0; at < lines.length;) {
    const out = takeKind(lines, at, "del");
    const into = takeKind(lines, at + out.length, "add");
    if (out.length > 0 && out.length === into.length) {
      out.forEach((line, n) => {
        const other = into[n];
        const pair = other && compareWords(line.text, other.text);
        if (!pair) return;
        marked.set(line, pair[0]);
        marked.set(other, pair[1]);
      });
    }
    at += Math.max(1, out.length + into.length);
  }
  return marked;
}

function takeKind(lines: readonly DiffLine[], from: number, kind: DiffLine["kind"]): readonly DiffLine[] {
  let end = from;
  while (lines[end]?.kind === kind) end += 1;
  return lines.slice(from, end);
}

export function compareWords(before: string, after: string): readonly [Piece[], Piece[]] | null {
  const a = before.match(WORD) ?? [];
  const b = after.match(WORD) ?? [];
  if (a.length > MOST_WORDS || b.length > MOST_WORDS || a.length === 0 || b.length === 0) return null;
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  if (at(0, 0) / Math.max(a.length, b.length) < COMMON_ENOUGH) return null;
  const out: Piece[] = [];
  const into: Piece[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const x = a[i];
    const y = b[j];
    if (x !== undefined && x === y) {
      push(out, x, false);
      push(into, x, false);
      i += 1;
      j += 1;
    } else if (x !== undefined && (y === undefined || at(i + 1, j) >= at(i, j + 1))) {
      push(out, x, true);
      i += 1;
    } else {
      push(into, y ?? "", true);
      j += 1;
    }
  }
  return [out, into];
}

function push(pieces: Piece[], text: string, changed: boolean): void {
  const last = pieces.at(-1);
  if (last?.changed === changed) pieces[pieces.length - 1] = { text: last.text + text, changed };
  else pieces.push({ text, changed });
}
