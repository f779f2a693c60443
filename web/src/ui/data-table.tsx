/** A table of figures: the first column names the row, bars show shares where they help. */

import type { ReactNode } from "react";

export interface Column<R> {
  readonly name: string;
  readonly show: (row: R) => ReactNode;
  /** In the table's share of its width; without it, what is left. */
  readonly width?: number;
  /** Shown only where there is room. */
  readonly wide?: boolean;
}

interface DataTableProps<R> {
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly keyOf: (row: R, at: number) => string;
  /** From 0 to 1, drawn as a bar behind the figures. */
  readonly shareOf?: (row: R) => number;
}

export function DataTable<R>({ label, columns, rows, keyOf, shareOf }: DataTableProps<R>) {
  const [head, ...figures] = columns;
  return (
    <table className="tb" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.name} scope="col" className={column.wide ? "wide" : undefined}>
              {column.name}
            </th>
          ))}
          {shareOf && <td className="sh" aria-hidden="true" />}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={keyOf(row, at)}>
            <th scope="row" className="clip">
              {head?.show(row)}
            </th>
            {figures.map((column) => (
              <td key={column.name} className={column.wide ? "num wide" : "num"}>
                {column.show(row)}
              </td>
            ))}
            {shareOf && (
              <td className="sh" aria-hidden="true">
                <i style={{ width: `${Math.max(0, Math.min(1, shareOf(row))) * 100}%` }} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
