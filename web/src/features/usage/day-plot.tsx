/** Bars over days, stacked by family of models: one hue by lightness. */

import { useId, useRef } from "react";
import { Link } from "wouter";

import { NO_FILTER, sessionsPath } from "@/lib/routes";
import { boundsOf, formatDay, formatLongDay } from "@/lib/zones";
import { axisSteps } from "@/state/usage";
import type { DayBar, DayPlot, Measure } from "@/state/usage";

import { useEndInSight } from "./use-end";
import { formatAmount, formatStep, MEASURE_NAMES, sizeOf } from "./amounts";

const WIDTH = 880;
const LEFT = 44;
const TOP = 8;
const FLOOR = 174;
const HEIGHT = 196;
const LABELS = 6;

interface PlotProps {
  readonly plot: DayPlot;
  readonly measure: Measure;
  readonly project: string | null;
  readonly today: string;
  /** The day that is looked at. */
  readonly chosen: string | null;
  readonly onChoose: (day: string | null) => void;
}

export function Bars({ plot, measure, project, today, chosen, onChoose }: PlotProps) {
  const id = useId();
  const { days, families } = plot;
  const most = sizeOf(plot.most, measure);
  const steps = axisSteps(most);
  const top = steps.at(-1) ?? 1;
  const room = (WIDTH - LEFT) / days.length;
  const gap = Math.min(8, room * 0.26);
  const y = (value: number) => FLOOR - (value / top) * (FLOOR - TOP);
  const every = Math.max(1, Math.ceil(days.length / LABELS));
  const at = days.findIndex(({ day }) => day === chosen);
  const bar = days[at];
  const box = useRef<HTMLDivElement>(null);
  useEndInSight(box);
  return (
    // On a phone it scrolls by itself, and can be reached by keys.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="plot-box" ref={box} tabIndex={0} role="group" aria-label="Plot by day">
      <svg className="plot" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby={`${id}-t ${id}-d`}>
        <title id={`${id}-t`}>{MEASURE_NAMES[measure]} by day</title>
        <desc id={`${id}-d`}>
          {`${days.length} days, at most ${formatAmount(plot.most, measure)} a day, stacked by ${families.join(", ") || "nothing"}. The table has every figure.`}
        </desc>
        {bar && <rect className="cur" x={LEFT + at * room} y={TOP} width={room} height={FLOOR - TOP} />}
        {steps.map((step) => (
          <g key={step}>
            <line
              className={step === 0 ? "grid base" : "grid"}
              x1={LEFT - 8}
              x2={WIDTH}
              y1={y(step)}
              y2={y(step)}
            />
            <text className="ax e" x={LEFT - 16} y={y(step) + 4}>
              {formatStep(step, measure, top)}
            </text>
          </g>
        ))}
        {days.map((day, n) => (
          <Stack
            key={day.day}
            bar={day}
            measure={measure}
            x={LEFT + n * room + gap / 2}
            width={room - gap}
            y={y}
          />
        ))}
        {days.map(({ day }, n) =>
          (days.length - 1 - n) % every === 0 ? (
            <text
              key={day}
              className={n === days.length - 1 ? "ax e" : "ax m"}
              x={n === days.length - 1 ? WIDTH : LEFT + (n + 0.5) * room}
              y={HEIGHT - 4}
            >
              {day === today ? "today" : formatDay(day)}
            </text>
          ) : null,
        )}
      </svg>
      {/* For the mouse; keys move by day, and the table is there for everybody. */}
      <div
        className="plot-days"
        aria-hidden="true"
        onMouseLeave={() => {
          onChoose(null);
        }}
      >
        {days.map(({ day }) => (
          <Link
            key={day}
            href={sessionsPath({ ...NO_FILTER, project, ...boundsOf(day) })}
            tabIndex={-1}
            onMouseEnter={() => {
              onChoose(day);
            }}
          />
        ))}
      </div>
      {bar && <Tip bar={bar} families={families} measure={measure} share={(at + 0.5) / days.length} />}
    </div>
  );
}

interface StackProps {
  readonly bar: DayBar;
  readonly measure: Measure;
  readonly x: number;
  readonly width: number;
  readonly y: (value: number) => number;
}

function Stack({ bar, measure, x, width, y }: StackProps) {
  let below = 0;
  return bar.parts.map((part, n) => {
    const size = sizeOf(part, measure);
    if (size === 0) return null;
    const from = y(below + size);
    const height = Math.max(0.75, y(below) - from - (below > 0 ? 1 : 0));
    below += size;
    return <rect key={n} className={`d${n + 1}`} x={x} y={from} width={width} height={height} rx={1} />;
  });
}

interface TipProps {
  readonly bar: DayBar;
  readonly families: readonly string[];
  readonly measure: Measure;
  /** Where the day is, from 0 to 1. */
  readonly share: number;
}

function Tip({ bar, families, measure, share }: TipProps) {
  return (
    <div className={share > 0.5 ? "tip to-left" : "tip"} style={{ left: `${5 + share * 95}%` }} role="status">
      <b>
        {formatLongDay(bar.day)}
        <span>{formatAmount(bar.total, measure)}</span>
      </b>
      {families.map((family, n) =>
        bar.parts[n] === 0n ? null : (
          <div key={family}>
            <i className={`b${n + 1}`} />
            {family}
            <span>{formatAmount(bar.parts[n] ?? 0n, measure)}</span>
          </div>
        ),
      )}
    </div>
  );
}

export function Legend({ families }: { readonly families: readonly string[] }) {
  return families.map((family, n) => (
    <span key={family} className="key">
      <i className={`b${n + 1}`} />
      {family}
    </span>
  ));
}
