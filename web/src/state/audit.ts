/** Entries of the audit as sentences, and by day. Pure. */

import type { AuditEntry } from "@/api/audit";
import { formatDate } from "@/lib/format";

/** A part of a sentence: a text, somebody, or a session. */
export type Part = { readonly text: string } | { readonly person: string } | { readonly session: string };

/** What is recorded, by the name that it has in a filter. */
export const ACTIONS: Readonly<Record<AuditEntry["action"], string>> = {
  viewed: "Viewed a session",
  searched: "Found in a search",
  exported: "Exported",
  "link-created": "Link created",
  "link-revoked": "Link revoked",
  "link-opened": "Link opened",
  "visibility-changed": "Sharing changed",
  "rule-changed": "Rule changed",
  forgotten: "Session deleted",
  "logged-in": "Logged in",
  "logged-out": "Logged out",
  "user-added": "Account added",
  "user-changed": "Account changed",
  "user-disabled": "Account disabled",
  "user-enabled": "Account enabled",
  "token-created": "Token created",
  "token-revoked": "Token revoked",
  "machine-assigned": "Machine assigned",
};

/** What somebody did, with `session` and `person` where those stand. */
const DEEDS: Readonly<Record<AuditEntry["action"], string>> = {
  viewed: "viewed {session}",
  searched: "found passages of {session}",
  exported: "exported {session}",
  "link-created": "created a link to {session}",
  "link-revoked": "revoked a link to {session}",
  "link-opened": "opened a link to {session}",
  "visibility-changed": "changed who sees {session}",
  "rule-changed": "changed a project rule",
  forgotten: "permanently deleted {session}",
  "logged-in": "logged in",
  "logged-out": "logged out",
  "user-added": "added {person}",
  "user-changed": "changed the account of {person}",
  "user-disabled": "disabled {person}",
  "user-enabled": "enabled {person}",
  "token-created": "created a token for {person}",
  "token-revoked": "revoked a token of {person}",
  "machine-assigned": "assigned a machine",
};

/** Deeds of people on their own account name nobody. */
const OWN: Readonly<Record<string, string>> = {
  "user-changed": "changed their own account",
  "token-created": "created a token",
  "token-revoked": "revoked one of their own tokens",
};

/** The sentence of an entry; what a newer server records goes by its own name. */
export function sentenceOf(entry: AuditEntry): readonly Part[] {
  const { who, person, session, action } = entry;
  const known: Readonly<Record<string, string>> = DEEDS;
  const deed = (who === person && who !== null ? OWN[action] : undefined) ?? known[action] ?? action;
  const parts: Part[] = [doerOf(entry), { text: " " }];
  for (const piece of deed.split(/(\{session\}|\{person\})/)) {
    if (piece === "{session}") parts.push(...sessionParts(session, person, who));
    else if (piece === "{person}") parts.push(person === null ? { text: "nobody" } : { person });
    else if (piece !== "") parts.push({ text: piece });
  }
  return parts;
}

function doerOf({ who, link }: AuditEntry): Part {
  if (who !== null) return { person: who };
  return { text: link === null ? "The operator" : "A stranger" };
}

/** `a session of ben`, `their own session`, or `several sessions` where none is named. */
function sessionParts(session: string | null, person: string | null, who: string | null): readonly Part[] {
  if (session === null)
    return person === null ? [{ text: "sessions" }] : [{ text: "sessions of " }, { person }];
  if (person === null || person === who) return [{ session }];
  return [{ session }, { text: " of " }, { person }];
}

const DETAILS: Readonly<Record<string, string>> = {
  team: "now shared with the team",
  private: "now private",
  "by the rules: team": "by the rules: shared with the team",
  "by the rules: private": "by the rules: private",
};

/** What is said besides the sentence. */
export function detailOf({ action, detail }: AuditEntry): string {
  return action === "visibility-changed" ? (DETAILS[detail] ?? detail) : detail;
}

/** The same as a plain text, for tests and for titles. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .map((part) => ("text" in part ? part.text : "person" in part ? part.person : "a session"))
    .join("");
}

export interface AuditDay {
  readonly day: string;
  readonly entries: readonly AuditEntry[];
}

/** Entries by the reader's days, in their order. */
export function byDay(entries: readonly AuditEntry[], now = new Date()): readonly AuditDay[] {
  const days: { day: string; entries: AuditEntry[] }[] = [];
  const today = formatDate(now.toISOString(), now);
  for (const entry of entries) {
    const date = formatDate(entry.at, now);
    const day = date === today ? "Today" : date;
    const last = days.at(-1);
    if (last?.day === day) last.entries.push(entry);
    else days.push({ day, entries: [entry] });
  }
  return days;
}
