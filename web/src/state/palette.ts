/** What the palette offers for what was typed. Pure: entries are gathered elsewhere. */

import { matchText } from "@/lib/fuzzy";
import type { Match } from "@/lib/fuzzy";

export const SCOPES = ["everything", "sessions", "messages", "commands", "projects", "tags"] as const;
export type Scope = (typeof SCOPES)[number];

/** Signs that stand for a scope when a text begins with them. */
const SIGNS: Readonly<Record<string, Scope>> = { ">": "commands", "@": "projects", "#": "tags" };

export interface Asked {
  readonly scope: Scope;
  readonly text: string;
}

export function readAsked(typed: string, chosen: Scope): Asked {
  const sign = SIGNS[typed.slice(0, 1)];
  return sign ? { scope: sign, text: typed.slice(1).trim() } : { scope: chosen, text: typed.trim() };
}

export function nextScope(scope: Scope, step: 1 | -1): Scope {
  return SCOPES[(SCOPES.indexOf(scope) + step + SCOPES.length) % SCOPES.length] ?? "everything";
}

export interface Entry {
  readonly id: string;
  readonly title: string;
}

export type Ranked<E extends Entry> = E & { readonly marks: Match["marks"] };

/** Those that answer to the text, the best first; all in their own order if there is none. */
export function rank<E extends Entry>(entries: readonly E[], text: string, most: number): Ranked<E>[] {
  return entries
    .flatMap((entry) => {
      const match = matchText(text, entry.title);
      return match ? [{ entry, match }] : [];
    })
    .sort((a, b) => b.match.score - a.match.score)
    .slice(0, most)
    .map(({ entry, match }) => ({ ...entry, marks: match.marks }));
}
