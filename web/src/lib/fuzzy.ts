/** How well a text answers to what was typed, and which of its characters do. Pure. */

export interface Match {
  /** The higher, the better. */
  readonly score: number;
  /** Stretches of the text, in order. */
  readonly marks: readonly (readonly [start: number, end: number])[];
}

/** All of it in one piece is best, then all its words, then its letters in order; else null. */
export function matchText(query: string, text: string): Match | null {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return { score: 0, marks: [] };
  const hay = text.toLowerCase();
  // A letter that is longer in lower case would move the marks.
  if (hay.length !== text.length) return hay.includes(wanted) ? { score: 50, marks: [] } : null;
  return matchWhole(wanted, hay) ?? matchWords(wanted, hay) ?? matchLetters(wanted, hay);
}

function matchWhole(wanted: string, hay: string): Match | null {
  const first = hay.indexOf(wanted);
  if (first < 0) return null;
  let at = first;
  while (at >= 0 && !startsWord(hay, at)) at = hay.indexOf(wanted, at + 1);
  const start = at < 0 ? first : at;
  const score = (at < 0 ? 100 : 200) - Math.min(start, 60);
  return { score, marks: [[start, start + wanted.length]] };
}

function matchWords(wanted: string, hay: string): Match | null {
  const words = wanted.split(/\s+/);
  if (words.length < 2) return null;
  const marks: [number, number][] = [];
  for (const word of words) {
    const at = hay.indexOf(word);
    if (at < 0) return null;
    marks.push([at, at + word.length]);
  }
  return { score: 80, marks: merge(marks) };
}

/** Letters in order, each where a word begins if it can be; scattered ones are no match. */
function matchLetters(wanted: string, hay: string): Match | null {
  const marks: [number, number][] = [];
  let from = 0;
  let starts = 0;
  for (const letter of wanted.replace(/\s+/g, "")) {
    let at = hay.indexOf(letter, from);
    if (at < 0) return null;
    if (at !== from || from === 0) {
      const start = nextStart(hay, letter, from);
      if (start >= 0) at = start;
    }
    if (startsWord(hay, at)) starts += 1;
    marks.push([at, at + letter.length]);
    from = at + letter.length;
  }
  const pieces = merge(marks);
  if (pieces.length > Math.max(2, starts + 1)) return null;
  return { score: 40 - pieces.length * 4 + starts * 2, marks: pieces };
}

function nextStart(hay: string, letter: string, from: number): number {
  for (let at = hay.indexOf(letter, from); at >= 0; at = hay.indexOf(letter, at + 1)) {
    if (startsWord(hay, at)) return at;
  }
  return -1;
}

const WORD = /[\p{L}\p{N}]/u;

function startsWord(hay: string, at: number): boolean {
  return at === 0 || !WORD.test(hay[at - 1] ?? "");
}

function merge(marks: readonly (readonly [number, number])[]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [start, end] of [...marks].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}
