/**
 * The flow: only the rows in sight are in the document, and only messages around them are in memory.
 *
 * Where messages are not loaded there is a gap of about their height; as soon as one looks at it, it is filled.
 */

import { useVirtualizer } from "@tanstack/react-virtual";
import type { Virtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useRef } from "react";
import type { ReactNode, Ref } from "react";

import type { Flow } from "@/state/flow/flow";
import type { Row } from "@/state/flow/rows";
import { guessHeight, spaceBefore } from "@/state/flow/spacing";

import { FlowRow } from "./flow-row";
import { usePin } from "./use-pin";

const TOP = 24;
const FOOT = 88;
/** How far beyond the edges one looks for gaps to fill. */
const AHEAD = 900;
const SETTLE_MS = 40;
/** Positions further apart than this are two places. */
const STALE = 4;
/** A row counts as the one that is read until so much of its foot is left. */
const PASSED = 40;

export interface FlowHandle {
  /** Moves to a row; `start` puts it at the top and keeps it there, `auto` only brings it into sight. */
  readonly scrollTo: (at: number, align: "start" | "auto") => void;
  /** Moves to the end, and follows it. */
  readonly scrollToEnd: () => void;
  readonly isSeen: (at: number) => boolean;
  /** Brings something within a row into sight. */
  readonly bring: (element: HTMLElement) => void;
}

interface FlowViewProps {
  readonly flow: Flow;
  readonly rows: readonly Row[];
  readonly current: string | null;
  /** The message whose operations are looked at in the sidechain. */
  readonly lit: number | null;
  /** Whether gaps are filled; not while the server fails. */
  readonly filling: boolean;
  readonly onPass: (row: Row | null) => void;
  readonly onPick: (key: string) => void;
  readonly onFollow: (following: boolean) => void;
  /** What stands at the very end. */
  readonly tail: ReactNode;
  readonly ref: Ref<FlowHandle>;
}

type Rows = Virtualizer<HTMLDivElement, HTMLDivElement>;

export function FlowView(props: FlowViewProps) {
  const { flow, rows, current, lit, filling, onPass, onPick, onFollow, tail, ref } = props;
  const scroller = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- rows are memoised by themselves
  const virtual = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    // New functions with new rows: only so the virtualizer asks again for the heights of gaps.
    estimateSize: useCallback((at: number) => guess(rows, at), [rows]),
    getItemKey: useCallback((at: number) => rows[at]?.key ?? at, [rows]),
    paddingStart: TOP,
    paddingEnd: FOOT,
    scrollPaddingStart: 0,
    scrollPaddingEnd: 48,
    overscan: 6,
    // What is read stays where it is when messages come in above it.
    anchorTo: "end",
  });

  const pin = usePin({ virtual, rows, scroller, onFollow });
  useImperativeHandle(ref, () => ({
    scrollTo: (at, align) => {
      const key = rows[at]?.key;
      if (align === "start" && key !== undefined) {
        pin.set({ key });
        return;
      }
      pin.release();
      virtual.scrollToIndex(at, { align });
    },
    scrollToEnd: () => {
      pin.set("end");
    },
    isSeen: (at) => {
      const { startIndex = 0, endIndex = -1 } = virtual.range ?? {};
      return startIndex <= at && at <= endIndex;
    },
    bring: (element) => {
      const box = scroller.current;
      if (!box) return;
      pin.release();
      const away = element.getBoundingClientRect().top - box.getBoundingClientRect().top;
      box.scrollTop += away - box.clientHeight / 4;
    },
  }));

  const items = virtual.getVirtualItems();
  const offset = virtual.scrollOffset ?? 0;
  const first = items.find((item) => item.end > offset + PASSED);
  const passed = first ? (rows[first.index] ?? null) : null;
  useEffect(() => {
    onPass(passed);
  }, [passed, onPass]);

  const pick = useCallback(
    (key: string) => {
      // What is opened at the end grows downwards: it stays where it was pointed at.
      pin.release();
      onPick(key);
    },
    [pin, onPick],
  );
  useFilling({ flow, rows, virtual, scroller, filling });
  useFocus(scroller, current);

  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reached by keys
    <div ref={scroller} className="scroll" tabIndex={0} role="group" aria-label="Conversation">
      <div className="flow" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          if (row.kind === "gap") {
            const place = { transform: `translateY(${item.start}px)`, height: item.size };
            return <div key={item.key} className="fl-gap" style={place} aria-hidden="true" />;
          }
          return (
            <FlowRow
              key={item.key}
              row={row}
              at={item.index}
              start={item.start}
              size={item.size}
              space={spaceBefore(row, rows[item.index - 1])}
              current={row.key === current}
              lit={row.index === lit}
              measure={virtual.measureElement}
              onPick={pick}
            />
          );
        })}
        {tail}
      </div>
    </div>
  );
}

function guess(rows: readonly Row[], at: number): number {
  const row = rows[at];
  return row ? guessHeight(row, rows[at - 1]) : 0;
}

interface Filling {
  readonly flow: Flow;
  readonly rows: readonly Row[];
  readonly virtual: Rows;
  readonly scroller: React.RefObject<HTMLDivElement | null>;
  readonly filling: boolean;
}

/** Fills the gaps in sight, and lets go of what is far away. */
function useFilling({ flow, rows, virtual, scroller, filling }: Filling): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const look = useCallback(() => {
    timer.current = undefined;
    const offset = virtual.scrollOffset ?? 0;
    // The page has moved, but not everybody has heard of it: what is drawn is not what is seen. The scroll event
    // that is on its way renders, and then one looks again.
    if (Math.abs((scroller.current?.scrollTop ?? offset) - offset) > STALE) return;
    const top = offset - AHEAD;
    const bottom = top + (virtual.scrollRect?.height ?? 0) + 2 * AHEAD;
    for (const item of virtual.getVirtualItems()) {
      const row = rows[item.index];
      if (row?.kind !== "gap" || item.end < top || item.start > bottom) continue;
      void flow.reach({ gap: row.gap, top: top - item.start, bottom: bottom - item.start });
      return;
    }
    trim(flow, rows, virtual);
  }, [flow, rows, virtual, scroller]);
  // After every render: scrolling renders, and so does what was loaded.
  useEffect(() => {
    if (!filling) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(look, SETTLE_MS);
    return () => {
      clearTimeout(timer.current);
    };
  });
}

function trim(flow: Flow, rows: readonly Row[], virtual: Rows): void {
  const shown = virtual.getVirtualItems().flatMap((item) => {
    const row = rows[item.index];
    return row && row.kind !== "gap" ? [row.index] : [];
  });
  const [first] = shown;
  const last = shown.at(-1);
  if (first === undefined || last === undefined) return;
  flow.trim(first, last, (from, to) => {
    const sizes = new Map(virtual.takeSnapshot().map((item) => [item.key, item.size]));
    return rows.reduce(
      (sum, row, at) =>
        row.kind !== "gap" && from <= row.index && row.index <= to
          ? sum + (sizes.get(row.key) ?? guess(rows, at))
          : sum,
      0,
    );
  });
}

/** Gives the focus to the row that keys act on, as soon as it is in the document. */
function useFocus(scroller: React.RefObject<HTMLDivElement | null>, current: string | null): void {
  const focused = useRef<string | null>(null);
  useLayoutEffect(() => {
    if (current === null || focused.current === current) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(current)}"]`);
    if (!row) return;
    focused.current = current;
    if (!row.contains(document.activeElement)) row.focus({ preventScroll: true });
  });
}
