/** The state of the page, which stands in the address, and the reports that it needs. */

import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

import { usageQuery } from "@/api/usage";
import type { UsageRequest } from "@/api/usage";
import { parseUsage, usagePath } from "@/lib/routes";
import type { Range, UsageGrouping, UsageState } from "@/lib/routes";
import { dayIn, daysBetween, isZone, monthsBetween, ownZone, shiftDay } from "@/lib/zones";

const BACK: Readonly<Record<Range, number | null>> = { today: 0, "7d": 6, "30d": 29, year: 364, all: null };
/** What is shown where no range was chosen. */
export const FIRST_RANGE: Range = "30d";
/** A plot of one day shows the days before it, too. */
const PLOT_DAYS = 6;
/** Over more days than these a bar is a month. */
const MOST_BARS = 400;
/** A table of more is read by nobody; the rest is summed up by the server. */
const MOST_ROWS = 200;

export function useUsageState(): readonly [UsageState, (change: Partial<UsageState>) => void] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const state = useMemo(() => parseUsage(search), [search]);
  const change = useCallback(
    (part: Partial<UsageState>) => {
      navigate(usagePath({ ...state, ...part }));
    },
    [state, navigate],
  );
  return [state, change];
}

export interface Period {
  readonly zone: string;
  readonly today: string;
  readonly since: string | null;
  readonly until: string | null;
  /** Whether it lies further back than was asked for: to there the answers go. */
  readonly moved: boolean;
}

/**
 * The days that are shown. Where nobody chose any and the last ones have no answers, they end with the last answer.
 */
export function usePeriod(state: UsageState, now: Date): Period {
  const period = useMemo(() => periodOf(state, now), [state, now]);
  const chosen = state.range !== null || state.since !== null || state.until !== null;
  const { since, until, zone } = period;
  const opening = useQuery({
    ...usageQuery({ by: "model", since, until, timezone: zone, project: state.project }),
    enabled: !chosen,
  });
  const last = opening.isPlaceholderData ? null : (opening.data?.available?.until ?? null);
  return useMemo(() => {
    if (chosen || last === null) return period;
    return { ...period, since: shiftDay(last, -(BACK[FIRST_RANGE] ?? 0)), until: last, moved: true };
  }, [period, chosen, last]);
}

function periodOf(state: UsageState, now: Date): Period {
  const zone = state.zone !== null && isZone(state.zone) ? state.zone : ownZone();
  const today = dayIn(zone, now);
  if (state.since !== null || state.until !== null) {
    return { zone, today, since: state.since, until: state.until, moved: false };
  }
  const back = BACK[state.range ?? FIRST_RANGE];
  return { zone, today, since: back === null ? null : shiftDay(today, -back), until: null, moved: false };
}

export function useReports(state: UsageState, period: Period, team: boolean) {
  const { zone, today, since, until } = period;
  const common = { since, until, timezone: zone, project: state.project };
  const ask = (part: Partial<UsageRequest> & Pick<UsageRequest, "by">) => usageQuery({ ...common, ...part });
  const models = useQuery(ask({ by: "model" }));
  const first = since ?? firstDay(models.data?.total.first, zone) ?? today;
  const last = until !== null && until < today ? until : today;
  const end = endOf(period);
  const plotFirst = first > shiftDay(last, -PLOT_DAYS) ? shiftDay(last, -PLOT_DAYS) : first;
  const monthly = shiftDay(plotFirst, MOST_BARS) < last;
  const names = useMemo(
    () => (monthly ? monthsBetween(plotFirst, last) : daysBetween(plotFirst, last)),
    [monthly, plotFirst, last],
  );
  return {
    names,
    models,
    days: useQuery(
      ask({ by: monthly ? "monthly" : "daily", since: plotFirst, until: last, breakdown: "model" }),
    ),
    year: useQuery(ask({ by: "daily", since: shiftDay(end, -371), until: null })),
    groups: useQuery(ask({ by: groupingOf(state, team), top: MOST_ROWS })),
    people: useQuery({ ...ask({ by: "project", breakdown: "person", top: MOST_ROWS }), enabled: team }),
    tools: useQuery(ask({ by: "tool", top: MOST_ROWS })),
    blocks: useQuery(ask({ by: "blocks", since: shiftDay(end, -29), until: null })),
  };
}

/** The day with which a year ends, and the blocks that are shown. */
export function endOf({ moved, until, today }: Period): string {
  return moved ? (until ?? today) : today;
}

/** Where there is only one person, nothing is divided by persons. */
export function groupingOf({ by }: UsageState, team: boolean): UsageGrouping {
  return team || (by !== "person" && by !== "machine") ? by : "project";
}

function firstDay(time: string | null | undefined, zone: string): string | null {
  return time == null ? null : dayIn(zone, new Date(time));
}
