/** All actions of a session over time, as bars. Pure. */

import type { ActionSpan } from "@/api/actions";

export const OVERVIEW_HEIGHT = 44;
const MOST = 30;
const LEAST = 3;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

export interface OverviewBar {
  /** In parts of the whole, 0 to 1. */
  readonly left: number;
  readonly width: number;
  readonly height: number;
  readonly actions: number;
  readonly failed: number;
}

export interface Overview {
  readonly bars: readonly OverviewBar[];
  readonly from: number;
  readonly to: number;
}

export function buildOverview(spans: readonly ActionSpan[]): Overview | null {
  const [first] = spans;
  const last = spans.at(-1);
  if (!first || !last) return null;
  const from = Date.parse(first.from);
  const to = Math.max(Date.parse(last.to), from + 1);
  const most = Math.max(...spans.map((span) => span.actions));
  const bars = spans.map((span): OverviewBar => {
    const start = Date.parse(span.from);
    return {
      left: (start - from) / (to - from),
      width: (Date.parse(span.to) - start) / (to - from),
      height: Math.max(LEAST, Math.round((span.actions / most) * MOST)),
      actions: span.actions,
      failed: span.failed,
    };
  });
  return { bars, from, to };
}

export interface Ticks {
  readonly times: readonly number[];
  /** How exact they have to be, so that no two are the same. */
  readonly unit: "day" | "minute" | "second";
}

/** Seven times under the plot, the first and the last included. */
export function overviewTicks({ from, to }: Overview): Ticks {
  const times = Array.from({ length: 7 }, (_, n) => from + ((to - from) * n) / 6);
  const length = to - from;
  return { times, unit: length > 6 * DAY ? "day" : length > 7 * MINUTE ? "minute" : "second" };
}
