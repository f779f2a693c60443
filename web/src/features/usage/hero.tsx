/** One number, what it stands for, and what is not certain about it. */

import type { UsageReport, UsageRow } from "@/api/types";
import { formatExact, parseMoney } from "@/lib/decimal";
import { formatCount, formatCounted, formatSpan, formatTokens } from "@/lib/format";
import type { UsageState } from "@/lib/routes";
import { formatDay, formatHour, formatLongDay } from "@/lib/zones";
import { isFloor, listDoubts, tokensOf } from "@/state/usage";

import { FIRST_RANGE } from "./use-usage";
import type { Period } from "./use-usage";

interface HeroProps {
  readonly report: UsageReport;
  readonly days: UsageReport | undefined;
  readonly blocks: UsageReport | undefined;
  readonly state: UsageState;
  readonly period: Period;
  readonly now: Date;
}

export function Hero({ report, days, blocks, state, period, now }: HeroProps) {
  const { total } = report;
  const floor = isFloor(total) ? "≥" : "";
  const active = (days?.rows ?? []).filter(
    (row) => row.name !== null && row.name >= (period.since ?? ""),
  ).length;
  const saved = parseMoney(total.saved_usd);
  return (
    <section className="hero" aria-label="Summary">
      <div>
        <h1 className="big">
          {floor}
          {state.measure === "cost" ? formatExact(parseMoney(total.cost_usd)) : formatTokens(tokensOf(total))}
          <span>
            {state.measure === "tokens" && "tokens "}
            {nameOfPeriod(state, period)}
          </span>
        </h1>
        {period.moved && (
          <p>
            There are no answers in the last 30 days. These are the 30 days up to the last one, on{" "}
            {formatLongDay(period.until ?? period.today)}.
          </p>
        )}
        <p>
          <b>{formatCount(total.messages)}</b> {total.messages === 1 ? "answer" : "answers"}
          {active > 0 && (
            <>
              {" "}
              on <b>{active}</b> {active === 1 ? "day" : "days"}
            </>
          )}
          .{" "}
          {saved > 0n && (
            <>
              Reading from cache saved <b>{formatExact(saved, true)}</b>.{" "}
            </>
          )}
          {describeReported(report)}
          {listDoubts(report).join(" ")}
        </p>
        {report.prices && (
          <p className="meta">
            Prices: {report.prices.name} {report.prices.version}, newest of {report.prices.newest}.
          </p>
        )}
      </div>
      <Block blocks={blocks?.rows ?? []} zone={period.zone} now={now} />
    </section>
  );
}

function nameOfPeriod({ range, ...state }: UsageState, period: Period): string {
  const { since, until } = period.moved ? period : state;
  if (since !== null || until !== null) {
    if (since === until && since !== null) return `on ${formatDay(since)}`;
    return `${since === null ? "" : `from ${formatDay(since)} `}${until === null ? "on" : `to ${formatDay(until)}`}`;
  }
  switch (range ?? FIRST_RANGE) {
    case "today":
      return "today";
    case "7d":
      return "in 7 days";
    case "30d":
      return "in 30 days";
    case "year":
      return "in a year";
    case "all":
      return period.since === null ? "in all" : "";
  }
}

/** Beside Claude Code's own figures, where it wrote any. */
function describeReported({ reported }: UsageReport): string {
  if (reported.length === 0) return "";
  const same = reported.filter((each) => {
    const apart = parseMoney(each.cost_usd) - parseMoney(each.computed_usd);
    return apart < 5_000_000_000n && apart > -5_000_000_000n;
  }).length;
  const of = reported.length === same ? "" : ` of the ${formatCount(reported.length)} that have one`;
  return same === 0
    ? `Claude Code’s own count differs for ${formatCounted(reported.length, "session")}: it includes calls that are in no transcript. `
    : `It agrees with Claude Code’s own count to the cent for ${formatCounted(same, "session")}${of}. `;
}

interface BlockProps {
  readonly blocks: readonly UsageRow[];
  readonly zone: string;
  readonly now: Date;
}

const BLOCK_MINUTES = 300;

/** The block of five hours that is running, and what is left of it. */
function Block({ blocks, zone, now }: BlockProps) {
  const running = blocks.findLast((row) => row.block?.active);
  const block = running?.block;
  if (!running || !block) {
    const last = blocks.at(-1)?.block;
    return (
      <div className="blk">
        <div className="hd">
          <b>No 5-hour block is running</b>
          <span className="meta">{last ? `the last began ${formatHour(last.start, zone, now)}` : ""}</span>
        </div>
        <div className="tr0" />
        <div className="ft meta">The next begins with the next answer.</div>
      </div>
    );
  }
  const passed = BLOCK_MINUTES - block.minutes_left;
  const clock = (time: string) => formatHour(time, zone, now).split(" ").at(-1);
  const costs = blocks.map((row) => parseMoney(row.cost_usd));
  const highest = costs.reduce((most, cost) => (cost > most ? cost : most), 0n);
  return (
    <div className="blk">
      <div className="hd">
        <b>This 5-hour block</b>
        <span className="meta">
          {clock(block.start)} to {clock(block.end)}, {formatSpan(block.minutes_left * 60_000)} left
        </span>
      </div>
      <div
        className="tr0"
        role="meter"
        aria-label="Minutes of the block that have passed"
        aria-valuemin={0}
        aria-valuemax={BLOCK_MINUTES}
        aria-valuenow={passed}
      >
        <i style={{ width: `${(passed / BLOCK_MINUTES) * 100}%` }} />
      </div>
      <div className="ft meta">
        <span>
          {isFloor(running) && "≥"}
          {formatExact(parseMoney(running.cost_usd))} so far
        </span>
        <span>
          about {formatExact(parseMoney(block.projected_usd))} by {clock(block.end)} at this pace; the highest
          of 30 days was {formatExact(highest)}
        </span>
      </div>
    </div>
  );
}
