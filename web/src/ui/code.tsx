/** Code, output and files that were read. */

import { Fragment } from "react";
import type { ReactNode } from "react";

import { hasEscapes, styleLines } from "@/lib/ansi";
import { languageOf, languageOfFile } from "@/lib/languages";

import { Cut, tidy } from "./cut";
import { useColours } from "./highlighter";
import { StyledLine } from "./styled";
import type { StyledPart } from "./styled";

export { Diff } from "./diff";

type Line = string | readonly StyledPart[];

/** A piece of code as somebody wrote it, by the language of its fence. */
export function CodeBlock({
  text,
  language = null,
}: {
  readonly text: string;
  readonly language?: string | null;
}) {
  const plain = text.replace(/\n$/, "");
  const coloured = useColours(plain, languageOf(language));
  const lines: readonly Line[] = coloured ?? plain.split("\n");
  return (
    <Cut
      lines={lines}
      head={language ? <div className="head">{tidy(language)}</div> : null}
      limit={40}
      label={language ? `Code, ${tidy(language)}` : "Code"}
    >
      {(shown) => (
        // What scrolls sideways can be reached by keys, too.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre tabIndex={0}>{joined(shown)}</pre>
      )}
    </Cut>
  );
}

interface OutputProps {
  readonly text: string;
  readonly wrap?: boolean;
  readonly note?: ReactNode;
  /** Colours it as code where it has no colours of its own. */
  readonly language?: string | null;
}

/** What a program printed, in the colours that it printed it in. */
export function Output({ text, wrap = false, note, language = null }: OutputProps) {
  const trimmed = text.replace(/\s+$/, "");
  const escaped = hasEscapes(trimmed) || trimmed.includes("\r");
  const coloured = useColours(trimmed, escaped ? null : language);
  const lines: readonly Line[] = escaped ? styleLines(trimmed) : (coloured ?? trimmed.split("\n"));
  return (
    <Cut lines={lines} note={note}>
      {(shown) => (
        <pre className={wrap ? "wraps" : undefined} tabIndex={wrap ? undefined : 0}>
          {joined(shown)}
        </pre>
      )}
    </Cut>
  );
}

/** Lines with the numbers that they have in their file. */
export function Numbered({
  lines,
  path = null,
  note,
}: {
  readonly lines: readonly (readonly [number: string, text: string])[];
  readonly path?: string | null;
  readonly note?: ReactNode;
}) {
  const coloured = useColours(lines.map(([, text]) => text).join("\n"), languageOfFile(path));
  return (
    <Cut lines={lines} note={note} label="Lines of a file">
      {(shown) => (
        <div className="lines">
          {shown.flatMap(([number, text], at) => [
            <i key={`n${at}`}>{number}</i>,
            <span key={`t${at}`}>{coloured?.[at] ? <StyledLine parts={coloured[at]} /> : tidy(text)}</span>,
          ])}
        </div>
      )}
    </Cut>
  );
}

function joined(lines: readonly Line[]): ReactNode {
  if (lines.every((line) => typeof line === "string")) return lines.map(tidy).join("\n");
  return lines.map((line, at) => (
    <Fragment key={at}>
      {at > 0 && "\n"}
      {typeof line === "string" ? tidy(line) : <StyledLine parts={line} />}
    </Fragment>
  ));
}
