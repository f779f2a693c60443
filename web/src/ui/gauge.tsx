/** How much of the context is in use; the notch is where compaction starts. */

import { formatTokens } from "@/lib/format";

interface GaugeProps {
  readonly tokens: number | null;
  readonly limit: number | null;
  readonly compactsAt: number | null;
}

const HOT = 0.8;

export function Gauge({ tokens, limit, compactsAt }: GaugeProps) {
  if (tokens === null || limit === null || limit <= 0) return null;
  const part = Math.min(1, tokens / limit);
  const percent = Math.round(part * 100);
  const hot = tokens >= (compactsAt ?? limit * HOT);
  return (
    <div
      className={hot ? "gauge hot" : "gauge"}
      role="meter"
      aria-label="Context"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={`${percent} % of the context`}
      title={describe(tokens, limit, compactsAt)}
    >
      <span className="bar">
        <i style={{ width: `${percent}%` }} />
        {compactsAt !== null && (
          <span className="notch" style={{ left: `${Math.min(100, (compactsAt / limit) * 100)}%` }} />
        )}
      </span>
      <span className="n">{percent} %</span>
    </div>
  );
}

function describe(tokens: number, limit: number, compactsAt: number | null): string {
  const used = `${formatTokens(tokens)} of ${formatTokens(limit)} tokens`;
  return compactsAt === null ? used : `${used}; compacted at ${formatTokens(compactsAt)}`;
}
