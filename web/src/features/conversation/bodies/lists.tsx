/** Lists of steps, questions with their answers, plans, results of searches. */

import type { FileHits, Question, Step, WebResult } from "@/state/call-shapes";
import { formatCounted } from "@/lib/format";
import { showControls } from "@/lib/visible";
import { Cut, tidy } from "@/ui/cut";
import { Icon } from "@/ui/icons";

/** Steps that are long done only say how many they are. */
const MOST_DONE = 6;

export function Steps({ steps }: { readonly steps: readonly Step[] }) {
  const earlier = Math.max(0, steps.findIndex((step) => step.mark !== "done") - MOST_DONE);
  const hidden = steps.every((step) => step.mark === "done") ? 0 : earlier;
  return (
    <div className="block todos">
      <div className="segs" aria-hidden="true">
        {steps.slice(0, 60).map((step, at) => (
          <i key={at} className={step.mark === "work" ? "now" : step.mark === "idle" ? "o" : undefined} />
        ))}
      </div>
      <ul>
        {hidden > 0 && (
          <li>
            <span className="st st-done" aria-hidden="true" />
            <span>{formatCounted(hidden, "earlier step")}</span>
          </li>
        )}
        {steps.slice(hidden).map((step, at) => (
          <li key={at} className={step.mark === "work" ? "now" : step.mark === "idle" ? "o" : undefined}>
            {/* In a transcript nothing turns: it was so at that moment. */}
            <span className={`st st-${step.mark} still`} aria-hidden="true" />
            <span>
              {showControls(step.text)}
              <span className="sr">, {step.status}</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Questions({ questions }: { readonly questions: readonly Question[] }) {
  return (
    <div className="block">
      {questions.map((question, at) => (
        <div key={at} className="qa">
          <p className="qa-q">{showControls(question.text)}</p>
          <ul>
            {question.options.map((option, n) => (
              <li key={n} className={option.chosen ? "yes" : undefined}>
                {option.chosen ? <Icon name="check" /> : <span className="o" aria-hidden="true" />}
                <span>
                  <b>{showControls(option.label)}</b>
                  {option.chosen && <span className="sr">, chosen</span>}
                  {option.detail && <span> · {showControls(option.detail)}</span>}
                </span>
              </li>
            ))}
            {question.other !== null && (
              <li className="yes">
                <Icon name="check" />
                <span>
                  <b>{showControls(question.other)}</b>
                  <span className="sr">, in their own words</span>
                </span>
              </li>
            )}
          </ul>
        </div>
      ))}
    </div>
  );
}

/** Addresses are text: whoever wants to go there copies them, and sees where. */
export function WebResults({ results }: { readonly results: readonly WebResult[] }) {
  return (
    <Cut
      lines={results}
      limit={8}
      label="Results"
      note={<p className="morebar">Addresses are plain text; nothing was loaded from them.</p>}
    >
      {(shown) => (
        <ul className="web">
          {shown.map((result, at) => (
            <li key={at}>
              <b>{tidy(result.title)}</b>
              <span className="addr">{tidy(result.address)}</span>
            </li>
          ))}
        </ul>
      )}
    </Cut>
  );
}

export function HitsByFile({
  files,
  pattern,
}: {
  readonly files: readonly FileHits[];
  readonly pattern: string | null;
}) {
  const lines = files.flatMap(({ file, lines: own }) => [
    { file, count: own.filter((line) => line.hit).length, line: null },
    ...own.map((line) => ({ file: null, count: 0, line })),
  ]);
  return (
    <Cut lines={lines} limit={18} label="Hits by file">
      {(shown) => (
        <div className="hits">
          {shown.map(({ file, count, line }, at) =>
            line ? (
              <div key={at} className={line.hit ? undefined : "near"}>
                <i>{line.number}</i>
                <span>{line.hit ? <Found text={line.text} pattern={pattern} /> : tidy(line.text)}</span>
              </div>
            ) : (
              file !== null && (
                <p key={at} className="hits-file">
                  {tidy(file)} <span>{count}</span>
                </p>
              )
            ),
          )}
        </div>
      )}
    </Cut>
  );
}

/** Plain words are marked; what else a pattern means is the searcher's business. */
const PLAIN = /^[\w \-./:'"@#]+$/u;

function Found({ text, pattern }: { readonly text: string; readonly pattern: string | null }) {
  const at = pattern !== null && PLAIN.test(pattern) ? text.toLowerCase().indexOf(pattern.toLowerCase()) : -1;
  if (at < 0 || pattern === null) return tidy(text);
  return (
    <>
      {tidy(text.slice(0, at))}
      <mark>{tidy(text.slice(at, at + pattern.length))}</mark>
      {tidy(text.slice(at + pattern.length))}
    </>
  );
}
