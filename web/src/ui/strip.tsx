/** One bar for each call; in contents, lists and cards. */

import { memo } from "react";

import { barHeight, STRIP_HEIGHT } from "@/lib/strip";
import type { Bar } from "@/lib/strip";

const KINDS: Readonly<Record<string, string>> = { agent: "a", mcp: "m", skill: "s" };
const STEP = 4;

interface StripProps {
  readonly bars: readonly Bar[];
  /** How the last one stands: it runs, or waits for a person. */
  readonly last?: "live" | "wait" | undefined;
}

export const Strip = memo(function Strip({ bars, last }: StripProps) {
  if (bars.length === 0) return null;
  const width = bars.length * STEP;
  return (
    <svg
      className="strip"
      width={width}
      height={STRIP_HEIGHT}
      viewBox={`0 0 ${width} ${STRIP_HEIGHT}`}
      aria-hidden="true"
    >
      {bars.map((bar, at) => {
        const stands = at === bars.length - 1 ? last : undefined;
        const height = stands === "wait" ? STRIP_HEIGHT : barHeight(bar);
        const kind = stands === "wait" ? "w" : bar.failed ? "x" : stands === "live" ? "l" : KINDS[bar.category];
        return (
          <rect
            key={at}
            x={at * STEP}
            y={STRIP_HEIGHT - height}
            width={3}
            height={height}
            rx={0.5}
            className={kind}
          />
        );
      })}
    </svg>
  );
});
