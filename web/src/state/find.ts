/** Hits within one conversation, in the order in which they stand in it. Pure. */

import type { Hit } from "@/api/types";

export interface Place {
  readonly message: string;
  readonly index: number;
  /** The file of a sub-agent; null: the transcript. */
  readonly source: string | null;
  readonly call: number | null;
  readonly thinking: boolean;
}

/** Each place once: a message may be hit by what it says, and each of its calls by itself. */
export function orderHits(hits: readonly Hit[], session: string): readonly Place[] {
  const places = new Map<string, { readonly place: Place; readonly at: string }>();
  for (const hit of hits) {
    if (hit.message === null || hit.message_uuid === null) continue;
    const own = hit.source === null || hit.source === session || hit.source === hit.session;
    const place: Place = {
      message: hit.message_uuid,
      index: hit.message,
      source: own ? null : hit.source,
      call: hit.call,
      thinking: hit.kind === "thinking",
    };
    const key = `${place.source ?? ""} ${place.index} ${place.call ?? ""}`;
    if (!places.has(key)) places.set(key, { place, at: hit.created_at ?? "" });
  }
  return [...places.values()].sort(compare).map(({ place }) => place);
}

interface Ordered {
  readonly place: Place;
  readonly at: string;
}

/** Within a file by position; between files by time, since that is how one lived through them. */
function compare(a: Ordered, b: Ordered): number {
  if (a.place.source === b.place.source) {
    return a.place.index - b.place.index || (a.place.call ?? -1) - (b.place.call ?? -1);
  }
  return a.at < b.at ? -1 : a.at > b.at ? 1 : 0;
}

/** The words of a query that can be marked: filters and signs are none. */
export function wordsIn(text: string): readonly string[] {
  return (text.match(/"[^"]+"|\S+/g) ?? [])
    .filter((word) => !/^-|^[a-z]+:\S|^(?:OR|AND|NOT)$/.test(word))
    .map((word) => word.replace(/^["(]+|[")*]+$/g, ""))
    .filter((word) => word.length > 1);
}

/** The first place at or behind what is read; the first one if there is none. */
export function firstFrom(places: readonly Place[], index: number): number {
  const next = places.findIndex((place) => place.source === null && place.index >= index);
  return Math.max(0, next);
}
