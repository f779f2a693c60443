/** Code, output and differences: sunken blocks, cut after a few lines with the count of the rest. */

import { useState } from "react";
import type { ReactNode } from "react";

import type { DiffLine } from "@/lib/diff";
import { formatCounted } from "@/lib/format";
import { showControls } from "@/lib/visible";

const SHOWN_LINES = 14;
/** Opening the rest shows so many more at once, so that a log of a million lines stays a page. */
const MORE_LINES = 1000;
/** A line longer than this is cut for the eye; the raw line has all of it. */
const LONGEST_LINE = 4000;

export function CodeBlock({
  text,
  language = null,
}: {
  readonly text: string;
  readonly language?: string | null;
}) {
  return (
    <Cut
      lines={text.replace(/\n$/, "").split("\n")}
      head={language ? <div className="head">{language}</div> : null}
      limit={40}
    >
      {(lines) => <pre>{lines.map(tidy).join("\n")}</pre>}
    </Cut>
  );
}

export function Output({
  text,
  wrap = false,
  note,
}: {
  readonly text: string;
  readonly wrap?: boolean;
  readonly note?: ReactNode;
}) {
  return (
    <Cut lines={text.replace(/\s+$/, "").split("\n")} head={null} note={note}>
      {(lines) => <pre className={wrap ? "wrap" : undefined}>{lines.map(tidy).join("\n")}</pre>}
    </Cut>
  );
}

/** Lines with the numbers that they have in their file. */
export function Numbered({ lines }: { readonly lines: readonly (readonly [number: string, text: string])[] }) {
  return (
    <Cut lines={lines} head={null}>
      {(shown) => (
        <div className="lines">
          {shown.flatMap(([number, text], at) => [
            <i key={`n${at}`}>{number}</i>,
            <span key={`t${at}`}>{tidy(text)}</span>,
          ])}
        </div>
      )}
    </Cut>
  );
}

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { same: "", add: "+", del: "−", gap: "⋮" };

export function Diff({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <Cut lines={lines} head={null} limit={24}>
      {(shown) => (
        <div className="diff">
          {shown.map((line, at) => (
            <div key={at} className={line.kind === "same" ? undefined : line.kind}>
              <i>{line.old}</i>
              <i>{line.new}</i>
              <u>{SIGNS[line.kind]}</u>
              <span>{tidy(line.text)}</span>
            </div>
          ))}
        </div>
      )}
    </Cut>
  );
}

interface CutProps<T> {
  readonly lines: readonly T[];
  readonly head: ReactNode;
  readonly limit?: number;
  readonly note?: ReactNode;
  readonly children: (lines: readonly T[]) => ReactNode;
}

function Cut<T>({ lines, head, limit = SHOWN_LINES, note, children }: CutProps<T>) {
  const [more, setMore] = useState(0);
  // A single hidden line would take the place of its own notice.
  const shown = lines.length <= limit + 1 ? lines.length : Math.min(lines.length, limit + more);
  const hidden = lines.length - shown;
  return (
    // A block that scrolls sideways can be reached by keys, too.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className="block" tabIndex={0} role="group" aria-label="Text">
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

function tidy(line: string): string {
  return showControls(line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line);
}
