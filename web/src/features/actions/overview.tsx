/** All actions over time; failed ones are marked. */

import { memo, useMemo } from "react";

import type { ActionSpan } from "@/api/actions";
import { formatClock, formatCounted, formatDate, formatExactClock } from "@/lib/format";
import { buildOverview, OVERVIEW_HEIGHT, overviewTicks } from "@/state/actions/overview";
import type { Ticks } from "@/state/actions/overview";

interface OverviewProps {
  readonly spans: readonly ActionSpan[];
  readonly failed: number;
  /** Whether the session goes on: then the right edge is now. */
  readonly live: boolean;
}

const FORMATS: Readonly<Record<Ticks["unit"], (time: string) => string>> = {
  day: (time) => formatDate(time),
  minute: formatClock,
  second: (time) => formatExactClock(time).slice(0, -2),
};
const WIDTH = 1200;
const MARK = 5;

export const OverviewPlot = memo(function OverviewPlot({ spans, failed, live }: OverviewProps) {
  const overview = useMemo(() => buildOverview(spans), [spans]);
  if (!overview) return null;
  const { times, unit } = overviewTicks(overview);
  const total = spans.reduce((sum, span) => sum + span.actions, 0);
  return (
    <div className="when">
      <svg
        className="dens"
        height={OVERVIEW_HEIGHT}
        viewBox={`0 0 ${WIDTH} ${OVERVIEW_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${formatCounted(total, "action")} over time, ${failed} failed`}
      >
        {overview.bars.map((bar, at) => {
          const x = bar.left * WIDTH + 1;
          const width = Math.max(1.5, bar.width * WIDTH - 2);
          const top = OVERVIEW_HEIGHT - bar.height;
          return (
            <g key={at}>
              <rect
                className={live && at === overview.bars.length - 1 ? "l" : undefined}
                x={x}
                y={top}
                width={width}
                height={bar.height}
                rx={1}
              />
              {bar.failed > 0 && (
                <rect className="x" x={x} y={top - MARK - 2} width={width} height={MARK} rx={1} />
              )}
            </g>
          );
        })}
        <line x1={0} x2={WIDTH} y1={OVERVIEW_HEIGHT - 0.5} y2={OVERVIEW_HEIGHT - 0.5} />
      </svg>
      <div className="axis micro" aria-hidden="true">
        {times.map((time, at) => {
          const moment = new Date(time).toISOString();
          const now = live && at === times.length - 1;
          return <span key={at}>{now ? "now" : FORMATS[unit](moment)}</span>;
        })}
      </div>
    </div>
  );
});
