/** The plots of the page, each with its table. */

import { useMemo } from "react";
import { Link } from "wouter";

import type { UsageReport, UsageRow } from "@/api/types";
import { useMachineNames } from "@/features/sharing/use-machine-names";
import { formatCount, formatCounted } from "@/lib/format";
import { baseName, modelName, toolName } from "@/lib/names";
import { GROUPINGS, NO_FILTER, sessionPath, sessionsPath } from "@/lib/routes";
import type { UsageGrouping, UsageState } from "@/lib/routes";
import { formatHour, formatLongDay } from "@/lib/zones";
import { showControls } from "@/lib/visible";
import { personName } from "@/state/sharing";
import { amountOf, buildDayPlot, buildHeat } from "@/state/usage";
import type { Measure } from "@/state/usage";
import { Segments } from "@/ui/controls";
import { DataTable } from "@/ui/data-table";
import type { Column } from "@/ui/data-table";
import { Skeleton } from "@/ui/skeleton";

import { formatAmount, MEASURE_NAMES, sizeOf } from "./amounts";
import { BlockBars } from "./blocks";
import { CACHE, CACHE_READ, CACHE_WRITE, COST, csvOf, INPUT, MESSAGES, OUTPUT, TOKENS } from "./columns";
import { Bars, Legend } from "./day-plot";
import { Figure } from "./figure";
import { HeatMap, HeatScale } from "./heat-map";
import { PeopleFigure } from "./people";
import { endOf, groupingOf } from "./use-usage";
import type { Period, useReports } from "./use-usage";

interface FiguresProps {
  readonly state: UsageState;
  readonly period: Period;
  readonly reports: ReturnType<typeof useReports>;
  readonly now: Date;
  readonly day: string | null;
  readonly onDay: (day: string | null) => void;
  readonly onChange: (change: Partial<UsageState>) => void;
}

export function Figures({ state, period, reports, now, day, onDay, onChange }: FiguresProps) {
  const { measure, tables } = state;
  const machineName = useMachineNames();
  return (
    <div className="gridu">
      <Days state={state} period={period} reports={reports} day={day} onDay={onDay} />
      <Models report={reports.models.data} measure={measure} tables={tables} />
      <Year report={reports.year.data} period={period} measure={measure} tables={tables} />
      <Blocks report={reports.blocks.data} period={period} now={now} tables={tables} />
      <Groups report={reports.groups.data} {...{ state, machineName, onChange }} />
      {machineName !== null && <PeopleFigure report={reports.people.data} measure={measure} tables={tables} />}
      <Tools report={reports.tools.data} measure={measure} tables={tables} />
    </div>
  );
}

type DaysProps = Pick<FiguresProps, "state" | "period" | "reports" | "day" | "onDay">;

function Days({ state, period, reports, day, onDay }: DaysProps) {
  const { measure, tables, project } = state;
  const report = reports.days.data;
  const { names } = reports;
  const plot = useMemo(() => report && buildDayPlot(report, measure, names), [report, measure, names]);
  if (!report || !plot) return <Loading />;
  const columns: Column<(typeof plot.days)[number]>[] = [
    { name: "Day", show: (bar) => formatLongDay(bar.day) },
    ...plot.families.map((family, n) => ({
      name: family,
      show: (bar: (typeof plot.days)[number]) => formatAmount(bar.parts[n] ?? 0n, measure),
    })),
    { name: MEASURE_NAMES[measure], show: (bar) => formatAmount(bar.total, measure) },
  ];
  return (
    <Figure
      title={`${MEASURE_NAMES[measure]} by ${report.by === "monthly" ? "month" : "day"}`}
      legend={<Legend families={plot.families} />}
      tables={tables}
      file="days"
      csv={() => csvOf("day", report.rows, "model")}
      plot={
        <Bars
          plot={plot}
          measure={measure}
          project={project}
          today={period.today}
          chosen={day}
          onChoose={onDay}
        />
      }
      table={
        <DataTable
          label={`${MEASURE_NAMES[measure]} by day`}
          columns={columns}
          rows={plot.days.filter((bar) => bar.total > 0n).toReversed()}
          keyOf={(bar) => bar.day}
        />
      }
    />
  );
}

interface PartProps {
  readonly report: UsageReport | undefined;
  readonly measure: Measure;
  readonly tables: boolean;
}

function Models({ report, measure, tables }: PartProps) {
  if (!report) return <Loading />;
  const columns: Column<UsageRow>[] = [
    {
      name: "Model",
      show: (row) => (
        <>
          <span title={row.name ?? undefined}>{row.name === null ? "none named" : modelName(row.name)}</span>
          {Object.keys(row.unpriced).length > 0 && <span className="tag">no price</span>}
        </>
      ),
    },
    OUTPUT,
    CACHE,
    measure === "cost" ? COST : TOKENS,
  ];
  return (
    <Figure
      title="By model"
      tables={tables}
      file="models"
      csv={() => csvOf("model", report.rows)}
      table={<Ranked label="By model" columns={columns} rows={report.rows} measure={measure} />}
    />
  );
}

function Year({ report, period, measure, tables }: PartProps & { readonly period: Period }) {
  const end = endOf(period);
  const days = useMemo(() => report && buildHeat(report, measure, end), [report, measure, end]);
  if (!report || !days) return <Loading />;
  const active = days.filter((day) => day.amount > 0n);
  return (
    <Figure
      title="Every day of the year"
      note={formatCounted(active.length, "active day")}
      legend={<HeatScale />}
      tables={tables}
      file="year"
      csv={() => csvOf("day", report.rows)}
      plot={<HeatMap days={days} measure={measure} today={period.today} />}
      table={
        <DataTable
          label="Every day of the year"
          columns={[
            { name: "Day", show: (day: (typeof active)[number]) => formatLongDay(day.day) },
            { name: MEASURE_NAMES[measure], show: (day) => formatAmount(day.amount, measure) },
          ]}
          rows={active.toReversed()}
          keyOf={(day) => day.day}
        />
      }
    />
  );
}

const SHOWN_BLOCKS = 7;

interface BlocksProps {
  readonly report: UsageReport | undefined;
  readonly period: Period;
  readonly now: Date;
  readonly tables: boolean;
}

function Blocks({ report, period, now, tables }: BlocksProps) {
  if (!report) return <Loading />;
  const rows = report.rows.toReversed();
  const shown = rows.slice(0, SHOWN_BLOCKS);
  return (
    <Figure
      title="5-hour blocks"
      note={rows.length > SHOWN_BLOCKS ? `the last ${SHOWN_BLOCKS}` : "of 30 days"}
      tables={tables}
      file="blocks"
      csv={() => csvOf("block", report.rows)}
      plot={
        shown.length > 0 ? (
          <BlockBars rows={shown} zone={period.zone} now={now} />
        ) : (
          <p className="quiet">There were no answers in the last 30 days.</p>
        )
      }
      table={
        <DataTable
          label="5-hour blocks"
          columns={[
            {
              name: "Begun",
              show: (row: UsageRow) => row.block && formatHour(row.block.start, period.zone, now),
            },
            MESSAGES,
            TOKENS,
            COST,
          ]}
          rows={rows}
          keyOf={(row, at) => row.block?.start ?? String(at)}
        />
      }
    />
  );
}

interface GroupsProps {
  readonly report: UsageReport | undefined;
  /** Null where there is no team. */
  readonly machineName: ((origin: string) => string) | null;
  readonly state: UsageState;
  readonly onChange: (change: Partial<UsageState>) => void;
}

function Groups({ report, state, machineName, onChange }: GroupsProps) {
  const by = groupingOf(state, machineName !== null);
  if (report?.by !== by) return <Loading />;
  const { measure } = state;
  const columns: Column<UsageRow>[] = [
    { name: GROUPINGS[by], show: (row) => <GroupName {...{ by, row, machineName }} /> },
    MESSAGES,
    INPUT,
    CACHE_WRITE,
    CACHE_READ,
    OUTPUT,
    measure === "cost" ? COST : TOKENS,
  ];
  return (
    <Figure
      title={`By ${GROUPINGS[by].toLowerCase()}`}
      note={describeOthers(report, measure)}
      legend={
        <Segments
          label="Divide by"
          options={(Object.entries(GROUPINGS) as [UsageGrouping, string][]).filter(
            ([value]) => machineName !== null || (value !== "person" && value !== "machine"),
          )}
          value={by}
          onChange={(next) => {
            onChange({ by: next });
          }}
        />
      }
      tables={state.tables}
      file={`${by}s`}
      csv={() => csvOf(by, report.rows)}
      table={<Ranked label={`By ${by}`} columns={columns} rows={report.rows} measure={measure} />}
    />
  );
}

/** What is left out is told, with what it comes to. */
function describeOthers({ others, left_out }: UsageReport, measure: Measure): string | undefined {
  return others
    ? `and ${formatCount(left_out)} others: ${formatAmount(amountOf(others, measure), measure)}`
    : undefined;
}

interface GroupNameProps {
  readonly by: UsageGrouping;
  readonly row: UsageRow;
  readonly machineName: ((origin: string) => string) | null;
}

function GroupName({ by, row, machineName }: GroupNameProps) {
  if (by === "person") {
    return (
      <Link className="name" href={sessionsPath({ ...NO_FILTER, person: row.name ?? "" })}>
        {showControls(personName(row.name))}
      </Link>
    );
  }
  if (row.name === null)
    return <span className="quiet">{by === "agent" ? "the session itself" : "none named"}</span>;
  if (by === "machine") {
    return (
      <Link className="name" title={row.name} href={sessionsPath({ ...NO_FILTER, machine: row.name })}>
        {showControls(machineName?.(row.name) ?? row.name)}
      </Link>
    );
  }
  if (by === "agent") return showControls(row.name);
  const session = by === "session";
  const text = session ? (row.session?.title ?? row.name) : baseName(row.name);
  return (
    <Link
      className="name"
      title={session ? (row.session?.project ?? undefined) : row.name}
      href={session ? sessionPath(row.name) : sessionsPath({ ...NO_FILTER, project: row.name })}
    >
      <bdi>{showControls(text)}</bdi>
    </Link>
  );
}

function Tools({ report, measure, tables }: PartProps) {
  if (!report) return <Loading />;
  const columns: Column<UsageRow>[] = [
    {
      name: "Tool",
      show: (row) =>
        row.name === null ? (
          <span className="quiet">answers without calls</span>
        ) : (
          <span title={row.name}>{toolName(row.name).name}</span>
        ),
    },
    { name: "Calls", show: (row) => (row.tool ? formatCount(row.tool.calls) : "") },
    {
      name: "Failed",
      show: (row) =>
        row.tool && row.tool.calls > 0 ? `${((row.tool.failed / row.tool.calls) * 100).toFixed(1)} %` : "",
    },
    measure === "cost" ? COST : TOKENS,
  ];
  return (
    <Figure
      title="By tool"
      note="for the answers that call it"
      tables={tables}
      file="tools"
      csv={() => csvOf("tool", report.rows)}
      table={<Ranked label="By tool" columns={columns} rows={report.rows} measure={measure} />}
    />
  );
}

interface RankedProps {
  readonly label: string;
  readonly columns: readonly Column<UsageRow>[];
  readonly rows: readonly UsageRow[];
  readonly measure: Measure;
}

/** The largest first, each with its share of the largest. */
function Ranked({ label, columns, rows, measure }: RankedProps) {
  const sorted = [...rows].sort((a, b) => (amountOf(a, measure) < amountOf(b, measure) ? 1 : -1));
  const most = sorted[0] ? sizeOf(amountOf(sorted[0], measure), measure) : 0;
  if (sorted.length === 0) return <p className="quiet">Nothing was used.</p>;
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={sorted}
      keyOf={(row, at) => row.name ?? `none-${at}`}
      shareOf={(row) => (most > 0 ? sizeOf(amountOf(row, measure), measure) / most : 0)}
    />
  );
}

function Loading() {
  return (
    <section className="fig" aria-label="Loading">
      <Skeleton rows={4} shape="session" />
    </section>
  );
}
