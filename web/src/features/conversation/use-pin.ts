/**
 * What was gone to stays in its place until the reader moves.
 *
 * The virtualizer knows a target by its number, and rows change their numbers while messages come in above them;
 * heights are guesses until rows are drawn; scroll events come a frame after the fact, or many frames on a slow
 * machine. So the place is kept by the row's key, and put right after every render, until somebody else scrolls.
 * The end can be kept in the same way: then a conversation is followed as it grows.
 */

import type { Virtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import type { RefObject } from "react";

import type { Row } from "@/state/flow/rows";

type Rows = Virtualizer<HTMLDivElement, HTMLDivElement>;

/** Keys that scroll by themselves; they let go even before the page has moved. */
const UP = new Set(["ArrowUp", "PageUp", "Home"]);
const DOWN = new Set(["ArrowDown", "PageDown", "End", " "]);
/** Positions closer than this are the same: browsers round them. */
const SAME = 2;

export type Pinned = { readonly key: string } | "end";

export interface Pin {
  readonly set: (pinned: Pinned) => void;
  readonly release: () => void;
}

interface Held {
  readonly pinned: Pinned;
  /** Where the page stood when it was last put right. */
  at: number | null;
}

interface PinOptions {
  readonly virtual: Rows;
  readonly rows: readonly Row[];
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** Told whenever the end begins or ceases to be kept. */
  readonly onFollow: (following: boolean) => void;
}

export function usePin({ virtual, rows, scroller, onFollow }: PinOptions): Pin {
  const held = useRef<Held | null>(null);
  // Rows change with every window; what is pinned is looked for in those that are drawn.
  const drawn = useRef(rows);
  const pin = useMemo<Pin>(() => {
    const hold = (next: Held | null) => {
      const before = held.current?.pinned === "end";
      held.current = next;
      const after = next?.pinned === "end";
      if (before !== after) onFollow(after);
    };
    return {
      set: (pinned) => {
        hold({ pinned, at: null });
        settle(scroller, held, drawn, virtual);
      },
      release: () => {
        hold(null);
      },
    };
  }, [scroller, virtual, onFollow]);

  useLayoutEffect(() => {
    drawn.current = rows;
    settle(scroller, held, drawn, virtual);
  });
  useEffect(() => {
    const element = scroller.current;
    return element ? watch(element, held, drawn, pin) : undefined;
  }, [pin, scroller]);
  return pin;
}

function settle(
  scroller: RefObject<HTMLDivElement | null>,
  held: RefObject<Held | null>,
  drawn: RefObject<readonly Row[]>,
  virtual: Rows,
): void {
  const element = scroller.current;
  const now = held.current;
  if (!element || !now) return;
  const wanted = placeOf(now.pinned, virtual, drawn.current, element);
  if (wanted === null) return;
  if (Math.abs(element.scrollTop - wanted.offset) > SAME) wanted.go();
  now.at = element.scrollTop;
}

/** Lets go when the reader scrolls, and takes hold of the end when they have come to it. */
function watch(
  element: HTMLElement,
  held: RefObject<Held | null>,
  drawn: RefObject<readonly Row[]>,
  pin: Pin,
): () => void {
  const left = (up: boolean) => {
    // Whoever is at the end and goes further down stays there.
    if (held.current && (up || held.current.pinned !== "end")) pin.release();
  };
  const moved = () => {
    const now = held.current;
    if (now?.at != null && Math.abs(element.scrollTop - now.at) > SAME) left(element.scrollTop < now.at);
    if (held.current === null && isAtEnd(element) && drawn.current.at(-1)?.kind !== "gap") pin.set("end");
  };
  const turned = (event: WheelEvent) => {
    left(event.deltaY < 0);
  };
  const pressed = (event: KeyboardEvent) => {
    if (UP.has(event.key)) left(true);
    else if (DOWN.has(event.key)) left(false);
  };
  const touched = () => {
    left(true);
  };
  const stop = new AbortController();
  const passive = { passive: true, signal: stop.signal };
  // Before the virtualizer hears of it: what it draws then must not be put back.
  element.addEventListener("scroll", moved, { ...passive, capture: true });
  element.addEventListener("wheel", turned, passive);
  element.addEventListener("touchmove", touched, passive);
  element.addEventListener("keydown", pressed, passive);
  return () => {
    stop.abort();
  };
}

function isAtEnd(element: HTMLElement): boolean {
  return element.scrollTop > 0 && element.scrollHeight - element.clientHeight - element.scrollTop <= SAME;
}

function placeOf(
  pinned: Pinned,
  virtual: Rows,
  rows: readonly Row[],
  element: HTMLElement,
): { readonly offset: number; readonly go: () => void } | null {
  if (pinned === "end") {
    return {
      offset: element.scrollHeight - element.clientHeight,
      go: () => {
        virtual.scrollToEnd();
      },
    };
  }
  const index = rows.findIndex((row) => row.key === pinned.key);
  const place = index < 0 ? undefined : virtual.getOffsetForIndex(index, "start");
  if (!place) return null;
  return {
    offset: place[0],
    go: () => {
      virtual.scrollToIndex(index, { align: "start" });
    },
  };
}
