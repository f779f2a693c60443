/** Hits by session. Pure. */

import type { Hit, Hits } from "@/api/types";

export interface HitGroup {
  readonly key: string;
  readonly session: string | null;
  readonly title: string | null;
  readonly project: string | null;
  /** Undefined where nobody says whose it is. */
  readonly person: string | null | undefined;
  readonly machine: string;
  readonly hits: readonly { readonly hit: Hit; readonly at: number }[];
}

/**
 * Within one page hits of a session stand together; a page that comes later never changes what is above it, but for
 * the last group, which may go on.
 */
export function groupHits(pages: readonly Hits[]): HitGroup[] {
  const groups: { session: string; hits: Hit[] }[] = [];
  for (const page of pages) {
    const before = Math.max(0, groups.length - 1);
    for (const hit of page.items) {
      const there = groups.slice(before).find((each) => each.session === hit.session_id);
      if (there) there.hits.push(hit);
      else groups.push({ session: hit.session_id, hits: [hit] });
    }
  }
  // Keys move through hits as they stand, so they are numbered in that order.
  let number = 0;
  return groups.map(({ session, hits }, index) => ({
    key: `${session}-${index}`,
    session: hits[0]?.session ?? null,
    title: hits[0]?.title ?? null,
    project: hits[0]?.project ?? null,
    person: hits[0]?.person,
    machine: hits[0]?.machine ?? "",
    hits: hits.map((hit) => ({ hit, at: number++ })),
  }));
}

/** The words that were found, for marking them elsewhere; the longest first. */
export function wordsOf(hit: Hit, marks: readonly (readonly [number, number])[]): string[] {
  const words = marks.map(([start, end]) => hit.snippet.slice(start, end)).filter((word) => word.trim() !== "");
  return [...new Set(words)].sort((a, b) => b.length - a.length);
}

export interface Tally {
  readonly name: string;
  readonly count: number;
}

/** How many hits say what, the most frequent first. */
export function tally(hits: readonly Hit[], nameOf: (hit: Hit) => string | null): Tally[] {
  const counts = new Map<string, number>();
  for (const hit of hits) {
    const name = nameOf(hit);
    if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}
