/**
 * A conversation of any length as stretches that are loaded and gaps that are not.
 *
 * Messages of a file are numbered from 0, so that what is missing is known exactly. A gap keeps the height it
 * takes on the page: it shares it out when a window is put into it, and gets back what was measured when a
 * stretch is let go. So the scroll bar tells where one is in all of it, and nothing jumps.
 */

import type { Message, MessageWindow } from "@/api/types";

export interface Stretch {
  readonly kind: "stretch";
  /** Indexes of the first and last message. */
  readonly first: number;
  readonly last: number;
  readonly messages: readonly Message[];
  /** Cursors for going on; null at the ends of the conversation and where a stretch was cut. */
  readonly before: string | null;
  readonly after: string | null;
}

export interface Gap {
  readonly kind: "gap";
  readonly first: number;
  readonly last: number;
  readonly height: number;
}

export type Part = Stretch | Gap;
export type Layout = readonly Part[];

/** What a message takes on the page until one is measured. */
export const GUESSED_HEIGHT = 72;

export function emptyLayout(total: number): Layout {
  return total === 0 ? [] : [{ kind: "gap", first: 0, last: total - 1, height: total * GUESSED_HEIGHT }];
}

/**
 * Puts a window in its place. What it overlaps is replaced by it; neighbours that touch become one stretch. Where it
 * says that nothing stands above or below there is no gap either, whatever the numbers: of a sub-agent that speaks in
 * the transcript, only some of its messages are meant.
 */
export function insertWindow(layout: Layout, window: MessageWindow): Layout {
  const fitted = fitTotal(layout, window.total);
  const first = window.items[0]?.index;
  const last = window.items.at(-1)?.index;
  if (first === undefined || last === undefined) return fitted;
  const middle: Stretch = {
    kind: "stretch",
    first,
    last,
    messages: reuse(layout, window.items),
    before: window.before,
    after: window.after,
  };
  const above = window.before === null ? [] : fitted.flatMap((part) => clip(part, 0, first - 1));
  const below = window.after === null ? [] : fitted.flatMap((part) => clip(part, last + 1, window.total - 1));
  return join([...above, middle, ...below]);
}

/** A conversation that has grown has a gap at its end; one that was rewritten shorter loses what is gone. */
export function fitTotal(layout: Layout, total: number): Layout {
  const end = layout.at(-1);
  if (!end) return emptyLayout(total);
  if (end.last >= total) return layout.flatMap((part) => clip(part, 0, total - 1));
  if (end.last === total - 1) return layout;
  const grown = total - 1 - end.last;
  const gap: Gap = { kind: "gap", first: end.last + 1, last: total - 1, height: grown * GUESSED_HEIGHT };
  return join([...layout, gap]);
}

/** Lets go of what is outside of `first` to `last`; `measure` tells the height of what goes. */
export function keepOnly(
  layout: Layout,
  first: number,
  last: number,
  measure: (first: number, last: number) => number,
): Layout {
  const forget = (part: Part, from: number, to: number): Gap[] => {
    const a = Math.max(part.first, from);
    const b = Math.min(part.last, to);
    return a > b ? [] : [{ kind: "gap", first: a, last: b, height: measure(a, b) }];
  };
  return join(
    layout.flatMap((part): Part[] =>
      part.kind === "gap"
        ? [part]
        : [...forget(part, 0, first - 1), ...clip(part, first, last), ...forget(part, last + 1, Infinity)],
    ),
  );
}

export function countLoaded(layout: Layout): number {
  return layout.reduce((sum, part) => (part.kind === "stretch" ? sum + part.messages.length : sum), 0);
}

export function findMessage(layout: Layout, index: number): Message | null {
  for (const part of layout) {
    if (part.kind === "stretch" && part.first <= index && index <= part.last) {
      return part.messages.find((message) => message.index === index) ?? null;
    }
  }
  return null;
}

/** The message that stands at some height of a gap, as far as can be told. */
export function indexInGap(gap: Gap, offset: number): number {
  const share = gap.height > 0 ? Math.min(Math.max(offset / gap.height, 0), 1) : 0;
  return Math.min(gap.last, gap.first + Math.floor(share * (gap.last - gap.first + 1)));
}

/** The part of it within `from` to `to`, as nothing or one part. */
function clip(part: Part, from: number, to: number): Part[] {
  const first = Math.max(part.first, from);
  const last = Math.min(part.last, to);
  if (first > last) return [];
  if (first === part.first && last === part.last) return [part];
  if (part.kind === "gap") {
    const share = (last - first + 1) / (part.last - part.first + 1);
    return [{ kind: "gap", first, last, height: part.height * share }];
  }
  return [
    {
      kind: "stretch",
      first,
      last,
      messages: part.messages.filter((message) => first <= message.index && message.index <= last),
      before: first === part.first ? part.before : null,
      after: last === part.last ? part.after : null,
    },
  ];
}

function join(parts: Layout): Layout {
  const joined: Part[] = [];
  for (const part of parts) {
    const previous = joined.at(-1);
    if (previous?.kind === "gap" && part.kind === "gap") {
      joined[joined.length - 1] = { ...previous, last: part.last, height: previous.height + part.height };
    } else if (previous?.kind === "stretch" && part.kind === "stretch") {
      joined[joined.length - 1] = {
        ...previous,
        last: part.last,
        messages: [...previous.messages, ...part.messages],
        after: part.after,
      };
    } else {
      joined.push(part);
    }
  }
  return joined;
}

/** Messages that came again unchanged stay the same objects, so that what is drawn of them stays, too. */
function reuse(layout: Layout, items: readonly Message[]): readonly Message[] {
  const known = new Map(
    layout.flatMap((part) =>
      part.kind === "stretch" ? part.messages.map((message) => [message.index, message] as const) : [],
    ),
  );
  if (known.size === 0) return items;
  return items.map((message) => {
    const before = known.get(message.index);
    return before && JSON.stringify(before) === JSON.stringify(message) ? before : message;
  });
}
