/** Who sees a session, and links to it, in words. Pure. */

import type { Me } from "@/api/me";
import type { Machine } from "@/api/people";
import type { Access, ShareLink } from "@/api/sharing";
import { wordsOf } from "@/lib/export-options";
import { formatCounted, formatDate } from "@/lib/format";

/** What can be said of a session: to leave it to the rules, or one of the two. */
export type Choice = "rules" | "private" | "team";

export function choiceOf({ chosen }: Pick<Access, "chosen">): Choice {
  return chosen ?? "rules";
}

/** Who sees it now, and why, in a sentence. */
export function describeAccess({ chosen, rule, visibility, person }: Access, me: string | null): string {
  const owner = person === null ? "" : `${person === me ? "you" : person} and `;
  const who = visibility === "team" ? "The whole team sees it" : `Only ${owner}admins see it`;
  if (chosen !== null) {
    if (person === null) return `${who}: this was chosen for it.`;
    return person === me ? `${who}: your choice.` : `${who}: ${person}’s choice.`;
  }
  return rule === null ? `${who}: no rule matches its project.` : `${who}, by the rule ${rule}.`;
}

/** Shortly, for a line in a list of facts. */
export function describeVisibility({ visibility }: { readonly visibility?: Access["visibility"] }): string {
  return visibility === "team" ? "shared" : "private";
}

/** What leaving it to the rules means. */
export function describeRule({ rule, chosen, visibility }: Access): string {
  if (rule === null) return "No rule matches its project: it is private.";
  const says = chosen === null ? `: ${visibility === "team" ? "the team sees it" : "it is private"}` : "";
  return `The rule ${rule} decides${says}.`;
}

export type LinkState = "open" | "expired" | "revoked";

export function stateOf(link: Pick<ShareLink, "revoked_at" | "expires_at">, now: number): LinkState {
  if (link.revoked_at !== null) return "revoked";
  return Date.parse(link.expires_at) <= now ? "expired" : "open";
}

/** Those that are good first, the newest first. */
export function sortLinks(links: readonly ShareLink[], now: number): ShareLink[] {
  const rank = (link: ShareLink) => (stateOf(link, now) === "open" ? 0 : 1);
  return links.toSorted(
    (a, b) =>
      rank(a) - rank(b) || Date.parse(b.created_at) - Date.parse(a.created_at) || (a.id < b.id ? -1 : 1),
  );
}

export function describeLink(link: ShareLink, now: number): string {
  const until = {
    open: `until ${formatDate(link.expires_at)}`,
    expired: `expired ${formatDate(link.expires_at)}`,
    revoked: `revoked ${formatDate(link.revoked_at)}`,
  }[stateOf(link, now)];
  const opened = link.opened === 0 ? "never opened" : `opened ${formatCounted(link.opened, "time")}`;
  return [link.created_by === null ? null : `by ${link.created_by}`, until, opened]
    .filter((part) => part !== null)
    .join(", ");
}

/**
 * How a machine is called: by its own name, with whose account it is where several have that name; else by the
 * beginning of its origin.
 */
export function machineName(
  origin: string,
  machines: readonly Pick<Machine, "origin" | "host" | "user">[] | undefined,
): string {
  const machine = machines?.find((each) => each.origin === origin);
  if (!machine || machine.host === "") return origin.slice(0, 8);
  const alike = machines?.filter((each) => each.host === machine.host) ?? [];
  return alike.length > 1 && machine.user !== "" ? `${machine.user}@${machine.host}` : machine.host;
}

/** A person of a list; an empty name stands for nobody. */
export function personName(person: string | null | undefined): string {
  return person == null || person === "" ? "nobody" : person;
}

/** What is typed to be left out; one letter alone would take out most of all words. */
export function linkWords(typed: string): readonly string[] {
  return wordsOf(typed).filter((word) => word.length > 1);
}

/** Whether somebody may say something about a session: star it, tag it, put it away. */
export function mayMark(
  me: Pick<Me, "name" | "is_admin" | "may_write"> | null,
  { person }: { readonly person: string | null },
): boolean {
  return me === null || (me.may_write && (me.is_admin || person === me.name));
}

/** What whoever asked is called in a conversation: you, in one's own. */
export function askerOf(me: Pick<Me, "name"> | null, person: string | null | undefined): string {
  return me === null || person == null || person === me.name ? "You" : person;
}
