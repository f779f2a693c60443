/** Every day of a year: a square each, darker where more was used. */

import { useId, useRef } from "react";

import { formatLongDay, formatMonth } from "@/lib/zones";
import type { HeatDay, Measure } from "@/state/usage";

import { formatAmount, MEASURE_NAMES } from "./amounts";
import { useEndInSight } from "./use-end";

const CELL = 13;
const STEP = 16.2;
const LEFT = 30;
const TOP = 18;
const WEEKDAYS = [
  [0, "Mon"],
  [2, "Wed"],
  [4, "Fri"],
] as const;

interface HeatMapProps {
  readonly days: readonly HeatDay[];
  readonly measure: Measure;
  readonly today: string;
}

export function HeatMap({ days, measure, today }: HeatMapProps) {
  const id = useId();
  const weeks = (days.at(-1)?.week ?? 0) + 1;
  const active = days.filter((day) => day.amount > 0n).length;
  const width = LEFT + weeks * STEP;
  const box = useRef<HTMLDivElement>(null);
  useEndInSight(box);
  return (
    // On a phone it scrolls by itself, and can be reached by keys.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="heat-box" ref={box} tabIndex={0} role="group" aria-label="Plot of the year">
      <svg
        className="plot heat"
        viewBox={`0 0 ${width} ${TOP + 7 * STEP}`}
        role="img"
        aria-labelledby={`${id}-t ${id}-d`}
      >
        <title id={`${id}-t`}>{MEASURE_NAMES[measure]} of every day of the year</title>
        <desc id={`${id}-d`}>{`${active} active days in twelve months. The table has every figure.`}</desc>
        {days.map((day, at) =>
          day.weekday === 0 && startsMonth(days, at) ? (
            <text key={day.day} className="ax" x={LEFT + day.week * STEP} y={11}>
              {formatMonth(day.day)}
            </text>
          ) : null,
        )}
        {WEEKDAYS.map(([row, name]) => (
          <text key={name} className="ax e" x={LEFT - 8} y={TOP + row * STEP + 10}>
            {name}
          </text>
        ))}
        {days.map((day) => (
          <rect
            key={day.day}
            className={day.day === today ? `h${day.level} today` : `h${day.level}`}
            x={LEFT + day.week * STEP}
            y={TOP + day.weekday * STEP}
            width={CELL}
            height={CELL}
            rx={2.5}
          >
            <title>{`${formatLongDay(day.day)}: ${formatAmount(day.amount, measure)}`}</title>
          </rect>
        ))}
      </svg>
    </div>
  );
}

/** Whether the week is the first of its month; the very first weeks are left out if the next month is near. */
function startsMonth(days: readonly HeatDay[], at: number): boolean {
  const month = (day: HeatDay | undefined) => day?.day.slice(0, 7);
  if (at === 0) return month(days[0]) === month(days[14]);
  return month(days[at]) !== month(days[at - 7]);
}

export function HeatScale() {
  return (
    <span className="scale micro" aria-hidden="true">
      less
      {[0, 1, 2, 3, 4].map((level) => (
        <i key={level} className={`s${level}`} />
      ))}
      more
    </span>
  );
}
