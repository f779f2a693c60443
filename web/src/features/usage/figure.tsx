/** A plot with its name, and the table behind it. */

import { useId, useState } from "react";
import type { ReactNode } from "react";

import { writeCsv } from "@/lib/csv";
import type { Cell } from "@/lib/csv";
import { downloadText } from "@/lib/download";
import { IconButton } from "@/ui/controls";

interface FigureProps {
  readonly title: string;
  readonly note?: ReactNode;
  readonly legend?: ReactNode;
  /** What a program gets, digit for digit, with a row of names first. */
  readonly csv: () => readonly (readonly Cell[])[];
  readonly file: string;
  /** Without a plot the table is all there is. */
  readonly plot?: ReactNode;
  readonly table: ReactNode;
  /** Whether all tables of the page are shown. */
  readonly tables: boolean;
}

export function Figure({ title, note, legend, csv, file, plot, table, tables }: FigureProps) {
  const [own, setOwn] = useState(false);
  const id = useId();
  const shown = plot === undefined || tables || own;
  return (
    <section className="fig" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span className="meta">{note}</span>}
        <span className="grow" />
        {legend}
        {plot !== undefined && (
          <IconButton
            className="fig-b"
            icon="table"
            label={`Table of ${title.toLowerCase()}`}
            aria-pressed={shown}
            onClick={() => {
              setOwn(!own);
            }}
          />
        )}
        <IconButton
          className="fig-b"
          icon="dl"
          label={`${title} as CSV`}
          onClick={() => {
            downloadText(`turnlog-${file}.csv`, writeCsv(csv()), "text/csv");
          }}
        />
      </header>
      {plot}
      {shown &&
        (plot === undefined ? table : <Scrolling label={`Table of ${title.toLowerCase()}`}>{table}</Scrolling>)}
    </section>
  );
}

/** What scrolls by itself can be reached by keys, too. */
function Scrolling({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="fig-table" tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
