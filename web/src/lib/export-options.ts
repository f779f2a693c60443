/** What of sessions is given out, and in which form. Pure. */

export const FORMATS = {
  html: ["HTML", "A self-contained page: collapsible, searchable, light and dark."],
  md: ["Markdown", "For GitHub: prompts as quotes, calls collapsed."],
  json: ["JSON", "One document for each message, call and result."],
  jsonl: ["JSONL", "The transcript’s own lines, each complete."],
  csv: ["CSV", "A row for each message, call and note."],
} as const;
export type ExportFormat = keyof typeof FORMATS;

export interface ExportOptions {
  readonly format: ExportFormat;
  readonly thinking: boolean;
  readonly tool_output: boolean;
  readonly agents: boolean;
  readonly redact: boolean;
  /** Words of one’s own to take out, as they are typed: with commas between them. */
  readonly words: string;
  /** Turns from 1; null: from the first, to the last. */
  readonly first_turn: number | null;
  readonly last_turn: number | null;
  readonly branch: number | null;
}

export const EVERYTHING: ExportOptions = {
  format: "html",
  thinking: true,
  tool_output: true,
  agents: true,
  redact: true,
  words: "",
  first_turn: null,
  last_turn: null,
  branch: null,
};

/** Lines come as they are: nothing is left out within one. */
export function hasParts(format: ExportFormat): boolean {
  return format !== "jsonl";
}

/** The query that asks for it, without what goes without saying. */
export function exportQuery(sessions: readonly string[], options: ExportOptions): URLSearchParams {
  const query = new URLSearchParams(sessions.map((session) => ["id", session]));
  query.set("format", options.format);
  if (hasParts(options.format)) {
    for (const part of ["thinking", "tool_output", "agents"] as const)
      if (!options[part]) query.set(part, "false");
  }
  if (!options.redact) query.set("redact", "false");
  else for (const word of wordsOf(options.words)) query.append("word", word);
  for (const bound of ["first_turn", "last_turn", "branch"] as const) {
    const value = options[bound];
    if (value !== null) query.set(bound, String(value));
  }
  return query;
}

export function wordsOf(typed: string): readonly string[] {
  return [
    ...new Set(
      typed
        .split(",")
        .map((word) => word.trim())
        .filter(Boolean),
    ),
  ];
}

/** The number of a turn as it is typed; nothing, or no such number: null. */
export function readTurn(typed: string): number | null {
  const number = Number.parseInt(typed, 10);
  return Number.isSafeInteger(number) && number >= 1 ? number : null;
}

/** How kinds of what is taken out are called. */
export const TAKEN_OUT: Readonly<Record<string, readonly [one: string, many: string]>> = {
  "private-key": ["private key", "private keys"],
  token: ["token", "tokens"],
  password: ["password", "passwords"],
  email: ["e-mail address", "e-mail addresses"],
  "home-directory": ["home directory", "home directories"],
  "user-name": ["user name", "user names"],
  "account-id": ["account id", "account ids"],
  word: ["word of your own", "words of your own"],
  base64: ["encoded secret", "encoded secrets"],
};
