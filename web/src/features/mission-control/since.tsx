/** A time that runs: only this text is drawn again each second, not what stands around it. */

import { formatAgo, formatElapsed, formatMoment, formatSpan } from "@/lib/format";
import { useClock } from "@/state/use-clock";

interface SinceProps {
  /** Null if it is not known: then there is nothing to tell. */
  readonly time: string | null;
  readonly before?: string;
  /** To the minute: for what lasts long. */
  readonly coarse?: boolean;
  /** How long ago it was, in round figures. */
  readonly ago?: boolean;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

export function Since({ time, before = "", coarse = false, ago = false }: SinceProps) {
  const since = time === null ? 0 : Date.parse(time);
  const text = useClock((now) => {
    const passed = Math.max(0, now - since);
    if (ago) return formatAgo(passed);
    if (!coarse) return formatElapsed(passed);
    const unit = passed < MINUTE ? SECOND : MINUTE;
    return formatSpan(Math.floor(passed / unit) * unit);
  });
  if (time === null) return null;
  return (
    <time dateTime={time} title={formatMoment(time)}>
      {before}
      {text}
    </time>
  );
}
