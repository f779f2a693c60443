/**
 * Terminal output as text with styles. Colours become the page's own sixteen; whatever else a terminal obeys
 * (moving the cursor, titles, links) has no meaning on a page and is left out. Pure.
 */

export interface Styled {
  readonly text: string;
  /** Class names: `ar` red … `bo` bold. */
  readonly style: string;
}

interface Pen {
  colour: string;
  ground: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  struck: boolean;
  inverse: boolean;
}

const COLOURS = ["ak", "ar", "ag", "ay", "ab", "am", "ac", "aw"] as const;
const SEQUENCE =
  // eslint-disable-next-line no-control-regex
  /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])/g;

/** The lines of an output, each as stretches of one style. */
export function styleLines(text: string): Styled[][] {
  const pen = freshPen();
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => styleLine(afterReturns(line), pen));
}

export function hasEscapes(text: string): boolean {
  return text.includes("\u001b");
}

/** A carriage return goes back to the start of the line: only what was written last stands there. */
function afterReturns(line: string): string {
  if (!line.includes("\r")) return line;
  const parts = line.split("\r");
  const last = parts.findLastIndex((part) => part.replace(SEQUENCE, "") !== "");
  // Colours that were set before still hold.
  const before = parts.slice(0, Math.max(last, 0)).join("");
  return [...before.matchAll(SEQUENCE)].map(([sequence]) => sequence).join("") + (parts[last] ?? "");
}

function styleLine(line: string, pen: Pen): Styled[] {
  const parts: Styled[] = [];
  const add = (text: string) => {
    if (text) parts.push({ text, style: classesOf(pen) });
  };
  let from = 0;
  for (const match of line.matchAll(SEQUENCE)) {
    add(line.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") paint(pen, match[1] ?? "");
  }
  add(line.slice(from));
  return parts;
}

function freshPen(): Pen {
  return {
    colour: "",
    ground: "",
    bold: false,
    dim: false,
    italic: false,
    underline: false,
    struck: false,
    inverse: false,
  };
}

function paint(pen: Pen, parameters: string): void {
  const codes = parameters.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, at + 1);
      if (code === 38) pen.colour = colour;
      else pen.ground = colour;
      at += used;
    } else {
      simple(pen, code);
    }
  }
}

/** 256 colours (`5;n`) and true colour (`2;r;g;b`), as the nearest of ours; and how many numbers that took. */
function extended(codes: readonly number[], at: number): [colour: string, used: number] {
  if (codes[at] === 5) return [of256(codes[at + 1] ?? 0), 2];
  if (codes[at] === 2) return [nearest(codes[at + 1] ?? 0, codes[at + 2] ?? 0, codes[at + 3] ?? 0), 4];
  return ["", 1];
}

function of256(n: number): string {
  if (n < 16) return COLOURS[n % 8] ?? "";
  if (n >= 232) return grey(8 + (n - 232) * 10);
  const cube = n - 16;
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

/** By its hue, since lightness belongs to the theme; greys by how light they are. */
function nearest(r: number, g: number, b: number): string {
  const most = Math.max(r, g, b);
  const least = Math.min(r, g, b);
  if (most - least < 40) return grey(most);
  const range = most - least;
  const sector =
    most === r ? ((g - b) / range + 6) % 6 : most === g ? (b - r) / range + 2 : (r - g) / range + 4;
  return HUES[Math.round(sector) % 6] ?? "";
}
const HUES = ["ar", "ay", "ag", "ac", "ab", "am"] as const;

function grey(light: number): string {
  if (light < 64) return "ak";
  return light < 170 ? "ad" : "aw";
}

function simple(pen: Pen, code: number): void {
  if (code === 0) Object.assign(pen, freshPen());
  else if (code === 1) pen.bold = true;
  else if (code === 2) pen.dim = true;
  else if (code === 3) pen.italic = true;
  else if (code === 4) pen.underline = true;
  else if (code === 7) pen.inverse = true;
  else if (code === 9) pen.struck = true;
  else if (code === 22) pen.bold = pen.dim = false;
  else if (code === 23) pen.italic = false;
  else if (code === 24) pen.underline = false;
  else if (code === 27) pen.inverse = false;
  else if (code === 29) pen.struck = false;
  else if (code === 39) pen.colour = "";
  else if (code === 49) pen.ground = "";
  else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) pen.colour = COLOURS[code % 10] ?? "";
  else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) pen.ground = COLOURS[code % 10] ?? "";
}

function classesOf(pen: Pen): string {
  // Text that cannot be told from what it stands on is no text: a ground alone is shown by weight.
  const colour = pen.colour || (pen.ground && pen.ground !== "ak" ? pen.ground : "");
  return [
    colour,
    pen.dim && !colour && "ad",
    (pen.bold || pen.inverse) && "bo",
    pen.italic && "it",
    pen.underline && "ul",
    pen.struck && "so",
    pen.inverse && "iv",
  ]
    .filter(Boolean)
    .join(" ");
}
