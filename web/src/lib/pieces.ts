/**
 * Long Markdown in pieces that mean together what the whole means, so that each can be parsed and drawn by itself.
 *
 * It is cut where a line at the margin follows a blank one: there every paragraph, quotation and table has ended, and
 * so has a list, unless that line goes on with it.
 */

/** Shorter texts stay whole; pieces are about so long. */
export const PIECE = 2500;
/** A list that is longer than this is cut between its entries. */
const LONG_LIST = 6000;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ENTRY = /^(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
/** HTML that may hold blank lines. */
const OPEN_HTML = /^ {0,3}<(?:!|\?|pre\b|script\b|style\b|textarea\b)/i;
/** What names may refer to from anywhere in the text. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

export function splitMarkdown(text: string): readonly string[] {
  if (text.length <= PIECE || DEFINITION.test(text)) return [text];
  const pieces: string[] = [];
  let from = 0;
  let fence: string | null = null;
  let blank = false;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end + 1;
    const line = text.slice(at, next);
    if (fence === null && at - from >= PIECE && mayCut(line, blank, at - from)) {
      pieces.push(text.slice(from, at));
      from = at;
    }
    if (fence === null && OPEN_HTML.test(line)) break;
    fence = fenceAfter(line, fence);
    blank = line.trim() === "";
    at = next;
  }
  pieces.push(text.slice(from));
  return pieces;
}

function mayCut(line: string, blank: boolean, length: number): boolean {
  if (ENTRY.test(line)) return length > LONG_LIST;
  return blank && /^\S/.test(line);
}

/** The fence that is open behind a line: it is closed by one of its own sort that is as long, and alone. */
function fenceAfter(line: string, fence: string | null): string | null {
  const mark = FENCE.exec(line)?.[1];
  if (mark === undefined) return fence;
  if (fence === null) return mark.startsWith("`") && line.trim().slice(mark.length).includes("`") ? null : mark;
  const closes = mark.startsWith(fence) && line.trim() === mark;
  return closes ? null : fence;
}

const LINE_HEIGHT = 24;
const LINE_LENGTH = 88;
/** Blocks of code are cut, and nobody looks at the end of a text to guess how long it is. */
const LOOKED_AT = 4000;

/** About how tall a text is, as the flow sets it. */
export function guessProse(text: string): number {
  const lines = text.slice(0, LOOKED_AT).split("\n");
  const taken = lines.reduce(
    (sum, line) => sum + (line === "" ? 0.5 : Math.ceil(line.length / LINE_LENGTH)),
    0,
  );
  return Math.round(LINE_HEIGHT * taken * Math.max(1, text.length / LOOKED_AT));
}
