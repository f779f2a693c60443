/** Usage: what it cost, how sure that is, when, and by what. */

import "@/styles/usage.css";

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useLocation } from "wouter";

import { projectsQuery } from "@/api/queries";
import { useTeam } from "@/state/use-me";
import { useTitle } from "@/features/shell/use-title";
import { writeCsv } from "@/lib/csv";
import { downloadText } from "@/lib/download";
import { baseName } from "@/lib/names";
import { NO_FILTER, RANGES, sessionsPath } from "@/lib/routes";
import type { Range, UsageState } from "@/lib/routes";
import { boundsOf, listZones } from "@/lib/zones";
import type { Binding } from "@/state/keys";
import { useKeys } from "@/state/use-keys";
import { MEASURES } from "@/state/usage";
import { Button, Segments } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { MEASURE_NAMES } from "./amounts";
import { csvOf } from "./columns";
import { Figures } from "./figures";
import { Hero } from "./hero";
import { FIRST_RANGE, usePeriod, useReports, useUsageState } from "./use-usage";
import type { Period } from "./use-usage";

export function UsagePage() {
  const [state, change] = useUsageState();
  // One moment for all that is shown; it moves when the page is asked for something else.
  const now = useMemo(() => new Date(), [state]); // eslint-disable-line react-hooks/exhaustive-deps
  const period = usePeriod(state, now);
  const reports = useReports(state, period, useTeam() !== null);
  const [day, setDay] = useState<string | null>(null);
  useTitle("Usage");
  useUsageKeys(state, change, reports, day, setDay);

  const { models } = reports;
  return (
    <main id="main" className="us" tabIndex={-1}>
      <Bar
        state={state}
        period={period}
        onChange={change}
        onCsv={() => {
          const rows = reports.days.data?.rows ?? [];
          downloadText("turnlog-usage.csv", writeCsv(csvOf("day", rows, "model")), "text/csv");
        }}
      />
      {models.isError ? (
        <Notice title="Usage could not be loaded." detail={models.error.message}>
          <button type="button" onClick={() => void models.refetch()}>
            Try again
          </button>
        </Notice>
      ) : models.data ? (
        <>
          <Hero
            report={models.data}
            days={reports.days.data}
            blocks={reports.blocks.data}
            state={state}
            period={period}
            now={now}
          />
          <Figures
            state={state}
            period={period}
            reports={reports}
            now={now}
            day={day}
            onDay={setDay}
            onChange={change}
          />
        </>
      ) : (
        <Skeleton rows={8} shape="session" />
      )}
    </main>
  );
}

interface BarProps {
  readonly state: UsageState;
  readonly period: Period;
  readonly onChange: (change: Partial<UsageState>) => void;
  readonly onCsv: () => void;
}

function Bar({ state, period, onChange, onCsv }: BarProps) {
  const projects = useQuery(projectsQuery()).data?.items ?? [];
  const own = state.since !== null || state.until !== null || period.moved;
  return (
    <div className="us-bar">
      <Segments
        label="Range"
        options={Object.entries(RANGES) as [Range, string][]}
        value={own ? ("" as Range) : (state.range ?? FIRST_RANGE)}
        onChange={(range) => {
          onChange({ range, since: null, until: null });
        }}
      />
      <Segments
        label="Measure"
        options={MEASURES.map((measure) => [measure, MEASURE_NAMES[measure]] as const)}
        value={state.measure}
        onChange={(measure) => {
          onChange({ measure });
        }}
      />
      <label className="chip pick">
        <span className="sr">Project</span>
        <select
          value={state.project ?? ""}
          onChange={(event) => {
            onChange({ project: event.currentTarget.value || null });
          }}
        >
          <option value="">All projects</option>
          {state.project !== null && !projects.some(({ path }) => path === state.project) && (
            <option value={state.project}>{baseName(state.project)}</option>
          )}
          {projects.map(({ path }) =>
            path === null ? null : (
              <option key={path} value={path}>
                {baseName(path)}
              </option>
            ),
          )}
        </select>
        <Icon name="down" />
      </label>
      <label className="chip pick">
        <span className="sr">Time zone</span>
        <select
          value={period.zone}
          onChange={(event) => {
            onChange({ zone: event.currentTarget.value });
          }}
        >
          {listZones().map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <Icon name="down" />
      </label>
      <span className="grow" />
      <Button
        className="btn-bare"
        aria-pressed={state.tables}
        onClick={() => {
          onChange({ tables: !state.tables });
        }}
      >
        <Icon name="table" />
        Tables
      </Button>
      <Button onClick={onCsv}>
        <Icon name="dl" />
        CSV
      </Button>
    </div>
  );
}

function useUsageKeys(
  state: UsageState,
  change: (change: Partial<UsageState>) => void,
  { names }: ReturnType<typeof useReports>,
  day: string | null,
  setDay: (day: string | null) => void,
): void {
  const [, navigate] = useLocation();
  const table = useMemo<readonly Binding[]>(() => {
    const ranges = Object.keys(RANGES) as Range[];
    const range = (step: 1 | -1) => () => {
      const next = ranges[ranges.indexOf(state.range ?? FIRST_RANGE) + step];
      if (next) change({ range: next, since: null, until: null });
    };
    const move = (step: 1 | -1) => () => {
      const at = day === null ? names.length - 1 : names.indexOf(day) + step;
      const next = names[at];
      if (next !== undefined) setDay(next);
    };
    return [
      { keys: "[", label: "shorter range", group: "range", hinted: true, run: range(-1) },
      { keys: "]", label: "longer range", group: "range", hinted: true, run: range(1) },
      {
        keys: "c",
        label: "cost or tokens",
        group: "cost, tokens",
        hinted: true,
        run: () => {
          change({ measure: state.measure === "cost" ? "tokens" : "cost" });
        },
      },
      { keys: "ArrowLeft", label: "previous day", group: "day", hinted: true, run: move(-1) },
      { keys: "ArrowRight", label: "next day", group: "day", hinted: true, run: move(1) },
      {
        keys: "Enter",
        label: "sessions of that day",
        hinted: true,
        run: () => {
          if (day !== null) {
            navigate(sessionsPath({ ...NO_FILTER, project: state.project, ...boundsOf(day) }));
          }
        },
      },
      {
        keys: "t",
        label: "tables",
        group: "table",
        hinted: true,
        run: () => {
          change({ tables: !state.tables });
        },
      },
    ];
  }, [state, change, names, day, setDay, navigate]);
  useKeys(table);
}
