/** The list itself: only the rows in sight are in the document, however many there are. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { RefObject } from "react";

import type { LogRow } from "@/state/actions/rows";

import { ActionLine, TurnLine } from "./row";

const HEAD_HEIGHT = 30;
const FOOT_HEIGHT = 64;

interface ActionListProps {
  readonly session: string;
  readonly rows: readonly LogRow[];
  readonly current: string | null;
  /** How many more actions there are than rows. */
  readonly missing: number;
  readonly scroller: RefObject<HTMLElement | null>;
  readonly onNearEnd: () => void;
}

export function ActionList({ session, rows, current, missing, scroller, onNearEnd }: ActionListProps) {
  const body = useRef<HTMLDivElement>(null);
  const heights = useHeights();
  const margin = useTop(body);
  // eslint-disable-next-line react-hooks/incompatible-library -- rows are memoised by themselves
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: useCallback(() => scroller.current, [scroller]),
    estimateSize: useCallback(
      (at: number) => (rows[at]?.kind === "turn" ? heights.turn : heights.action),
      [rows, heights],
    ),
    getItemKey: useCallback((at: number) => rows[at]?.key ?? at, [rows]),
    scrollMargin: margin,
    scrollPaddingStart: HEAD_HEIGHT,
    scrollPaddingEnd: FOOT_HEIGHT,
    overscan: 12,
  });
  useEffect(() => {
    virtual.measure();
  }, [virtual, heights]);

  const items = virtual.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (missing > 0 && lastShown >= rows.length - 60) onNearEnd();
  }, [missing, lastShown, rows.length, onNearEnd]);
  useCurrent(rows, current, scroller, (at) => {
    virtual.scrollToIndex(at, { align: "auto" });
  });

  const rest = missing * heights.action;
  return (
    <div
      ref={body}
      className="al-body"
      role="rowgroup"
      style={{ height: virtual.getTotalSize() + rest + FOOT_HEIGHT }}
    >
      {items.map((item) => {
        const row = rows[item.index];
        if (!row) return null;
        return (
          <div
            key={item.key}
            role="presentation"
            style={{ height: item.size, transform: `translateY(${item.start - margin}px)` }}
          >
            {row.kind === "turn" ? (
              <TurnLine row={row} />
            ) : (
              <ActionLine session={session} action={row.action} current={row.key === current} />
            )}
          </div>
        );
      })}
      {rest > 0 && (
        <div
          className="al-rest"
          aria-hidden="true"
          style={{ height: rest, transform: `translateY(${virtual.getTotalSize()}px)` }}
        />
      )}
    </div>
  );
}

/** How far down in its page the list begins: what stands above it may take one line or three. */
function useTop(body: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const element = body.current;
    const around = element?.offsetParent;
    if (!element || !around) return;
    const look = () => {
      setTop(element.offsetTop);
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(around);
    return () => {
      observer.disconnect();
    };
  }, [body]);
  return top;
}

/** On a phone an action takes two lines. */
function useHeights() {
  const [narrow, setNarrow] = useState(() => window.matchMedia("(max-width: 900px)").matches);
  useEffect(() => {
    const query = window.matchMedia("(max-width: 900px)");
    const look = () => {
      setNarrow(query.matches);
    };
    query.addEventListener("change", look);
    return () => {
      query.removeEventListener("change", look);
    };
  }, []);
  return useMemo(() => ({ action: narrow ? 48 : 27, turn: narrow ? 44 : 38 }), [narrow]);
}

/** Brings the chosen row into sight; as soon as it is in the document it takes the focus, so that Enter opens it. */
function useCurrent(
  rows: readonly LogRow[],
  current: string | null,
  scroller: RefObject<HTMLElement | null>,
  show: (at: number) => void,
): void {
  const focused = useRef<string | null>(null);
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (current === null || focused.current === current) return;
    const at = rows.findIndex((row) => row.key === current);
    if (at < 0) return;
    if (shown.current !== current) {
      shown.current = current;
      show(at);
    }
    const row = rows[at];
    if (row?.kind !== "action") return;
    const target = scroller.current?.querySelector<HTMLElement>(
      `[data-action="${row.action.index}"] :is(a, [tabindex])`,
    );
    if (!target) return;
    focused.current = current;
    target.focus({ preventScroll: true });
  });
}
