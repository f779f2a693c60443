/** The list itself: only the rows in sight are in the document, however many there are. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { RefObject } from "react";

import type { SessionItem } from "@/api/types";
import { keepOffset, readOffset } from "@/state/offsets";
import { groupOf } from "@/state/session-rows";
import type { ListRow, OpenedGroup } from "@/state/session-rows";
import type { Density } from "@/state/settings";

import { DayRow, MoreRow, SessionRow } from "./rows";

const HEIGHTS: Readonly<Partial<Record<ListRow["kind"], number>>> = { day: 44, more: 40 };
const ROW_HEIGHTS: Readonly<Record<Density, number>> = { two: 58, one: 36 };
const HEAD_HEIGHT = 86;
const FOOT_HEIGHT = 48;

interface SessionListProps {
  readonly rows: readonly ListRow[];
  readonly density: Density;
  readonly byDay: boolean;
  readonly current: string | null;
  /** How many more rows there are than are loaded. */
  readonly missing: number;
  readonly opened: ReadonlyMap<string, OpenedGroup>;
  readonly onToggleGroup: (session: SessionItem) => void;
  readonly onMoreOfGroup: (group: string, failed: boolean) => void;
  readonly scroller: RefObject<HTMLElement | null>;
  readonly selected: ReadonlySet<string>;
  readonly machineName: ((origin: string) => string) | null;
  readonly isMarkable: (session: SessionItem) => boolean;
  readonly onStar: (session: SessionItem) => void;
  readonly onNearEnd: () => void;
}

export function SessionList(props: SessionListProps) {
  const {
    rows,
    density,
    byDay,
    current,
    missing,
    opened,
    onToggleGroup,
    onMoreOfGroup,
    scroller,
    selected,
    machineName,
    isMarkable,
    onStar,
    onNearEnd,
  } = props;
  const [offset] = useState(() => readOffset(window.location.search));
  const height = ROW_HEIGHTS[density];
  const rest = missing * height;
  // eslint-disable-next-line react-hooks/incompatible-library -- rows are memoised by themselves
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: useCallback(() => scroller.current, [scroller]),
    estimateSize: useCallback((at: number) => HEIGHTS[rows[at]?.kind ?? "session"] ?? height, [rows, height]),
    getItemKey: useCallback((at: number) => rows[at]?.key ?? at, [rows]),
    scrollMargin: HEAD_HEIGHT,
    scrollPaddingStart: HEAD_HEIGHT,
    scrollPaddingEnd: FOOT_HEIGHT,
    overscan: 8,
    initialOffset: offset,
  });
  useKeptOffset(scroller, offset);
  useEffect(() => {
    virtual.measure();
  }, [virtual, height]);

  const items = virtual.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (missing > 0 && lastShown >= rows.length - 40) onNearEnd();
  }, [missing, lastShown, rows.length, onNearEnd]);

  const at = useMemo(() => rows.findIndex((row) => row.key === current), [rows, current]);
  const focused = useRef<string | null>(null);
  useEffect(() => {
    if (at < 0 || current === null || focused.current === current) return;
    virtual.scrollToIndex(at, { align: "auto" });
  }, [at, current, virtual]);
  // The row may come into the document only after scrolling; then it takes the focus, so that Enter opens it.
  useEffect(() => {
    if (current === null || focused.current === current) return;
    const link = scroller.current?.querySelector<HTMLElement>(`[data-session="${CSS.escape(current)}"]`);
    if (!link) return;
    focused.current = current;
    link.focus({ preventScroll: true });
  });

  return (
    <div className="s-body" role="rowgroup" style={{ height: virtual.getTotalSize() + rest + FOOT_HEIGHT }}>
      {items.map((item) => {
        const row = rows[item.index];
        if (!row) return null;
        return (
          <div
            key={item.key}
            role="presentation"
            style={{ transform: `translateY(${item.start - HEAD_HEIGHT}px)` }}
          >
            {row.kind === "day" ? (
              <DayRow row={row} />
            ) : row.kind === "more" ? (
              <MoreRow row={row} onMore={onMoreOfGroup} />
            ) : (
              <SessionRow
                session={row.session}
                current={row.key === current}
                selected={selected.has(row.key)}
                byDay={byDay && !row.member}
                member={row.member}
                open={opened.has(groupOf(row.session) ?? "")}
                onToggleGroup={onToggleGroup}
                machineName={machineName}
                onStar={isMarkable(row.session) ? onStar : null}
              />
            )}
          </div>
        );
      })}
      {rest > 0 && (
        <div
          className="s-rest"
          role="presentation"
          style={{ height: rest, transform: `translateY(${virtual.getTotalSize()}px)` }}
        />
      )}
    </div>
  );
}

/** Begins where the list was left, and keeps that for the next time. */
function useKeptOffset(scroller: RefObject<HTMLElement | null>, offset: number): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    if (offset > 0) element.scrollTo({ top: offset });
    const keep = () => {
      keepOffset(window.location.search, element.scrollTop);
    };
    element.addEventListener("scrollend", keep);
    return () => {
      element.removeEventListener("scrollend", keep);
    };
  }, [scroller, offset]);
}
