/** Who used how much on what; only where there are several people. */

import { useMemo } from "react";
import { Link } from "wouter";

import type { UsageReport } from "@/api/types";
import { baseName } from "@/lib/names";
import { NO_FILTER, sessionsPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { personName } from "@/state/sharing";
import { buildMatrix, OTHERS } from "@/state/usage";
import type { Matrix, Measure } from "@/state/usage";
import { DataTable } from "@/ui/data-table";
import type { Column } from "@/ui/data-table";
import { Skeleton } from "@/ui/skeleton";

import { formatAmount, MEASURE_NAMES, sizeOf } from "./amounts";
import { csvOf } from "./columns";
import { Figure } from "./figure";

const MOST_PEOPLE = 6;
const TITLE = "By project and person";

interface PeopleFigureProps {
  readonly report: UsageReport | undefined;
  readonly measure: Measure;
  readonly tables: boolean;
}

export function PeopleFigure({ report, measure, tables }: PeopleFigureProps) {
  const matrix = useMemo(() => report && buildMatrix(report, measure, MOST_PEOPLE), [report, measure]);
  if (!report || !matrix) {
    return (
      <section className="fig" aria-label="Loading">
        <Skeleton rows={4} shape="session" />
      </section>
    );
  }
  return (
    <Figure
      title={TITLE}
      note="of what you may see"
      tables={tables}
      file="people"
      csv={() => csvOf("project", report.rows, "person")}
      table={<People matrix={matrix} measure={measure} />}
    />
  );
}

type Row = Matrix["rows"][number];

function People({ matrix, measure }: { readonly matrix: Matrix; readonly measure: Measure }) {
  if (matrix.rows.length === 0) return <p className="quiet">Nothing was used.</p>;
  const columns: Column<Row>[] = [
    { name: "Project", show: (row) => <Project path={row.name} /> },
    ...matrix.parts.map((part, at): Column<Row> => ({
      name: part === OTHERS ? OTHERS : showControls(personName(part)),
      show: (row) => (row.amounts[at] ? formatAmount(row.amounts[at], measure) : "–"),
      wide: at > 1,
    })),
    { name: MEASURE_NAMES[measure], show: (row) => formatAmount(row.total, measure) },
  ];
  const most = matrix.rows[0] ? sizeOf(matrix.rows[0].total, measure) : 0;
  return (
    <DataTable
      label={TITLE}
      columns={columns}
      rows={matrix.rows}
      keyOf={(row) => row.name ?? ""}
      shareOf={(row) => (most > 0 ? sizeOf(row.total, measure) / most : 0)}
    />
  );
}

function Project({ path }: { readonly path: string | null }) {
  if (path === null) return <span className="quiet">none named</span>;
  return (
    <Link className="name" title={path} href={sessionsPath({ ...NO_FILTER, project: path })}>
      <bdi>{showControls(baseName(path))}</bdi>
    </Link>
  );
}
