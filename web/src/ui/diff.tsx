/** What was changed in a file: signs, the numbers before and after, changed words marked. */

import { useMemo } from "react";

import type { DiffLine } from "@/lib/diff";
import { languageOfFile } from "@/lib/languages";
import { markWords } from "@/lib/words";
import type { Piece } from "@/lib/words";

import { Cut, tidy } from "./cut";
import { useColours } from "./highlighter";
import type { CodeLine } from "./highlighter";
import { StyledLine } from "./styled";
import type { StyledPart } from "./styled";

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { same: "", add: "+", del: "−", gap: "⋮" };
const SAID: Readonly<Record<DiffLine["kind"], string>> = { same: "", add: "added", del: "removed", gap: "" };
/** Short stretches keep their context in sight, so that a change is read as a whole. */
const LIMIT = 24;

export function Diff({
  lines,
  path = null,
  limit = LIMIT,
}: {
  readonly lines: readonly DiffLine[];
  readonly path?: string | null;
  readonly limit?: number;
}) {
  const words = useMemo(() => markWords(lines), [lines]);
  const colours = useDiffColours(lines, path);
  return (
    <Cut lines={lines} limit={limit} label="Changes">
      {(shown) => (
        <div className="diff">
          {shown.map((line, at) => (
            <div key={at} className={line.kind === "same" ? undefined : line.kind}>
              <i>{line.old}</i>
              <i>{line.new}</i>
              <u>
                {SIGNS[line.kind]}
                {SAID[line.kind] && <span className="sr">{SAID[line.kind]}</span>}
              </u>
              <span>
                <DiffText line={line} coloured={colours?.get(line) ?? null} pieces={words.get(line) ?? null} />
              </span>
            </div>
          ))}
        </div>
      )}
    </Cut>
  );
}

interface TextProps {
  readonly line: DiffLine;
  readonly coloured: CodeLine | null;
  readonly pieces: readonly Piece[] | null;
}

function DiffText({ line, coloured, pieces }: TextProps) {
  if (pieces === null) return coloured ? <StyledLine parts={coloured} /> : tidy(line.text);
  const all = coloured ?? [{ text: line.text, style: "" }];
  return cutUp(all, pieces).map(({ parts, changed }, at) =>
    changed ? (
      <b key={at}>
        <StyledLine parts={parts} />
      </b>
    ) : (
      <StyledLine key={at} parts={parts} />
    ),
  );
}

/** The same line, cut by what changed as well as by colour. */
function cutUp(all: readonly StyledPart[], pieces: readonly Piece[]) {
  let from = 0;
  return pieces.map(({ text, changed }) => {
    const parts = slice(all, from, from + text.length);
    from += text.length;
    return { parts, changed };
  });
}

function slice(parts: readonly StyledPart[], from: number, to: number): StyledPart[] {
  let at = 0;
  return parts.flatMap(({ text, style }) => {
    const start = at;
    at += text.length;
    const cut = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    return cut ? [{ text: cut, style }] : [];
  });
}

/** Each side is coloured as a text of its own: what was taken out is no part of what was put in. */
function useDiffColours(
  lines: readonly DiffLine[],
  path: string | null,
): ReadonlyMap<DiffLine, CodeLine> | null {
  const language = languageOfFile(path);
  const [before, after] = useMemo(
    () => [lines.filter((line) => line.kind !== "add"), lines.filter((line) => line.kind !== "del")],
    [lines],
  );
  const old = useColours(join(before), language);
  const now = useColours(join(after), language);
  return useMemo(() => {
    if (!old || !now) return null;
    const colours = new Map<DiffLine, CodeLine>();
    const put = (side: readonly DiffLine[], coloured: readonly CodeLine[]) => {
      side.forEach((line, at) => {
        const own = coloured[at];
        if (own && line.kind !== "gap") colours.set(line, own);
      });
    };
    put(before, old);
    put(after, now);
    return colours;
  }, [before, after, old, now]);
}

function join(lines: readonly DiffLine[]): string {
  return lines.map((line) => (line.kind === "gap" ? "" : line.text)).join("\n");
}
