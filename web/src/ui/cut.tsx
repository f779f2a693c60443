/** A sunken block that is cut after a few lines, with the count of the rest. */

import { useState } from "react";
import type { ReactNode } from "react";

import { formatCounted } from "@/lib/format";
import { showControls } from "@/lib/visible";

const SHOWN_LINES = 14;
/** Opening the rest shows so many more at once, so that a log of a million lines stays a page. */
const MORE_LINES = 1000;
/** A line longer than this is cut for the eye; the raw line has all of it. */
const LONGEST_LINE = 4000;

interface CutProps<T> {
  readonly lines: readonly T[];
  readonly head?: ReactNode;
  readonly limit?: number;
  readonly note?: ReactNode;
  /** What the lines are, for those who do not see them. */
  readonly label?: string;
  readonly children: (lines: readonly T[]) => ReactNode;
}

export function Cut<T>({ lines, head, limit = SHOWN_LINES, note, label = "Text", children }: CutProps<T>) {
  const [more, setMore] = useState(0);
  // A single hidden line would take the place of its own notice.
  const shown = lines.length <= limit + 1 ? lines.length : Math.min(lines.length, limit + more);
  const hidden = lines.length - shown;
  return (
    <div className="block" role="group" aria-label={label}>
      {head}
      {children(lines.slice(0, shown))}
      {hidden > 0 && (
        <button
          type="button"
          className="morebar"
          onClick={() => {
            setMore(more + MORE_LINES);
          }}
        >
          Show {formatCounted(Math.min(hidden, MORE_LINES), "more line")}
          {hidden > MORE_LINES && ` of ${formatCounted(hidden, "hidden one")}`}
        </button>
      )}
      {note}
    </div>
  );
}

export function tidy(line: string): string {
  return showControls(line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line);
}
