/**
 * A query as the field has it: filters that are finished are tokens, the rest is text. Pure.
 *
 * Only what may move is a token: filters that stand alone, outside of quotes and parentheses, and beside no OR.
 * Their order does not matter to the search (docs/guide.md), so tokens come first and the text, whose last word
 * may go on, comes last.
 */

export const FILTERS = [
  "project",
  "session",
  "tool",
  "model",
  "role",
  "category",
  "kind",
  "branch",
  "file",
  "agent",
  "person",
  "machine",
  "is",
  "after",
  "before",
] as const;
export type Filter = (typeof FILTERS)[number];

export interface Token {
  /** As it is written: `-tool:"a b"`. */
  readonly raw: string;
  readonly name: Filter;
  /** Without its quotes. */
  readonly value: string;
  readonly negated: boolean;
}

export interface FieldState {
  readonly tokens: readonly Token[];
  readonly text: string;
}

const FILTER = new RegExp(`^(-?)(${FILTERS.join("|")}):(.+)$`, "su");

export function readToken(raw: string): Token | null {
  const [, minus, name, value] = FILTER.exec(raw) ?? [];
  if (name === undefined || value === undefined) return null;
  if (value.startsWith('"') && !/^"(?:[^"\\]|\\.)*"$/su.test(value) && !value.includes(",")) return null;
  const bare = value.replace(/^"((?:[^"\\]|\\.)*)"$/su, "$1").replace(/\\(["\\])/g, "$1");
  return { raw, name: name as Filter, value: bare, negated: minus === "-" };
}

export function makeToken(name: Filter, value: string, negated = false): Token {
  const quoted = /[\s,"()\\]/u.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
  return { raw: `${negated ? "-" : ""}${name}:${quoted}`, name, value, negated };
}

/** The parts between blanks, with quotes and parentheses kept whole; each with where it begins. */
export function splitQuery(text: string): { readonly raw: string; readonly at: number }[] {
  const parts: { raw: string; at: number }[] = [];
  let start = -1;
  let quoted = false;
  let depth = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const char = text[at];
    if (char === undefined || (!quoted && depth === 0 && /\s/u.test(char))) {
      if (start >= 0) parts.push({ raw: text.slice(start, at), at: start });
      start = -1;
      continue;
    }
    if (start < 0) start = at;
    if (char === "\\" && quoted) at += 1;
    else if (char === '"') quoted = !quoted;
    else if (!quoted && char === "(" && (depth > 0 || /^-?$/.test(text.slice(start, at)))) depth += 1;
    else if (!quoted && char === ")" && depth > 0) depth -= 1;
  }
  return parts;
}

/** A whole query, as it stands in the address: every filter that stands alone is a token. */
export function readField(query: string): FieldState {
  return lift(query, false);
}

/** What was typed: a filter is finished when a blank is behind it. */
export function liftFinished(state: FieldState): FieldState {
  const lifted = lift(state.text, true);
  return lifted.tokens.length === 0
    ? state
    : { tokens: [...state.tokens, ...lifted.tokens.filter((token) => !has(state, token))], text: lifted.text };
}

function lift(text: string, typing: boolean): FieldState {
  const parts = splitQuery(text);
  const tokens: Token[] = [];
  const rest: string[] = [];
  parts.forEach(({ raw, at }, index) => {
    const joined = parts[index - 1]?.raw === "OR" || parts[index + 1]?.raw === "OR";
    const open = typing && at + raw.length === text.length;
    const token = joined || open ? null : readToken(raw);
    if (token) tokens.push(token);
    else rest.push(raw);
  });
  if (tokens.length === 0) return { tokens, text };
  return { tokens, text: rest.join(" ") + (/\s$/u.test(text) && rest.length > 0 ? " " : "") };
}

export function writeField({ tokens, text }: FieldState): string {
  return [...tokens.map((token) => token.raw), text.trimStart()].filter((part) => part !== "").join(" ");
}

/** What is asked for: a filter that is still being written is not, since its value is not known yet. */
export function askedOf(state: FieldState): string {
  const text = openFilter(state.text) ? withoutLastWord(state.text).trimEnd() : state.text;
  return writeField({ ...state, text });
}

export function has(state: FieldState, { raw }: Token): boolean {
  return state.tokens.some((token) => token.raw === raw);
}

/** Adds a token, or takes it away if it is there. */
export function toggleToken(state: FieldState, token: Token): FieldState {
  return has(state, token)
    ? { ...state, tokens: state.tokens.filter(({ raw }) => raw !== token.raw) }
    : { ...state, tokens: [...state.tokens, token] };
}

/** Where a character of the query stands: in a token, or in the text. Both counted in UTF-16 units. */
export function placeOf(
  state: FieldState,
  at: number,
): { readonly token: number | null; readonly offset: number } {
  let start = 0;
  for (const [index, token] of state.tokens.entries()) {
    if (at < start + token.raw.length) return { token: index, offset: at - start };
    start += token.raw.length + 1;
  }
  return { token: null, offset: Math.max(0, at - start) };
}

/** The word that is being written at the end of the text. */
export function lastWord(text: string): string {
  const last = splitQuery(text).at(-1);
  return last && last.at + last.raw.length === text.length ? last.raw : "";
}

/** The filter whose value is being written, and as much of it as there is. */
export function openFilter(
  text: string,
): { readonly name: Filter; readonly begun: string; readonly negated: boolean } | null {
  const [, minus, name, begun] = /^(-?)([a-z]+):(.*)$/su.exec(lastWord(text)) ?? [];
  const filter = FILTERS.find((each) => each === name);
  return filter ? { name: filter, begun: (begun ?? "").replace(/^"/, ""), negated: minus === "-" } : null;
}

/** Filters that say nothing where there is only one person. */
export const TEAM_FILTERS: ReadonlySet<Filter> = new Set<Filter>(["person", "machine"]);

/** Filters whose names begin as the last word does; `team`: whether there is more than one person. */
export function beginningNames(text: string, team = false): Filter[] {
  const word = lastWord(text).replace(/^-/, "");
  if (word.length === 0) return [];
  return FILTERS.filter((name) => name.startsWith(word) && (team || !TEAM_FILTERS.has(name)));
}

/** The text without the word that is being written. */
export function withoutLastWord(text: string): string {
  return text.slice(0, text.length - lastWord(text).length);
}
