/** The last blocks of five hours, as bars. */

import type { UsageRow } from "@/api/types";
import { formatExact, parseMoney, toNumber } from "@/lib/decimal";
import { formatHour } from "@/lib/zones";
import { isFloor } from "@/state/usage";

interface BlockBarsProps {
  readonly rows: readonly UsageRow[];
  readonly zone: string;
  readonly now: Date;
}

export function BlockBars({ rows, zone, now }: BlockBarsProps) {
  const most = Math.max(...rows.map((row) => toNumber(parseMoney(row.cost_usd))), 1e-9);
  return (
    <ul className="b5s">
      {rows.map((row) => (
        <li key={row.block?.start ?? row.name} className="b5">
          <span>{row.block && formatHour(row.block.start, zone, now)}</span>
          <span>
            <i
              className={row.block?.active ? "n" : undefined}
              style={{ width: `${(toNumber(parseMoney(row.cost_usd)) / most) * 100}%` }}
            />
          </span>
          <span className="num">
            {isFloor(row) && "≥"}
            {formatExact(parseMoney(row.cost_usd))}
          </span>
        </li>
      ))}
    </ul>
  );
}
