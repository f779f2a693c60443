/** What went into a call and what came out, in the form that suits its tool; of unknown tools, as it is. */

import { useMemo } from "react";

import type { Call, CallResult } from "@/api/types";
import { formatBytes, formatCounted } from "@/lib/format";
import { textOf } from "@/lib/json";
import { SHARED } from "@/lib/routes";
import { showControls, stripTerminal } from "@/lib/visible";
import { filesOf, hitsOf, questionsOf, stepsOf, webResultsOf } from "@/state/call-shapes";
import { changesOf, readLines } from "@/state/calls";
import { Diff, Numbered, Output } from "@/ui/code";
import { Markdown } from "@/ui/markdown";

import { Fields } from "./bodies/fields";
import { HitsByFile, Questions, Steps, WebResults } from "./bodies/lists";
import { Picture } from "./picture";

/** An argument that fits the row is not repeated under it. */
const FITS = 90;
/** Tools whose answer only repeats what went in, or stands in it. */
const SAID_BEFORE = new Set(["AskUserQuestion", "ExitPlanMode", "exit_plan_mode"]);
/** Tools whose answer is written for people. */
const PROSE = new Set(["WebFetch", "Task", "Agent", "Skill"]);

/** Of a sub-agent that is shown, what it was asked stands in what it did. */
export function CallBody({ call, agent = false }: { readonly call: Call; readonly agent?: boolean }) {
  return (
    <div className="in">
      {!agent && <Input call={call} />}
      {call.result && <Result call={call} result={call.result} />}
      {!call.result && call.state === "placeholder" && <p className="meta">Still running.</p>}
    </div>
  );
}

function Input({ call }: { readonly call: Call }) {
  const changes = useMemo(() => changesOf(call), [call]);
  if (changes) return <Diff lines={changes} path={call.path ?? textOf(call.input, "file_path")} />;
  const command = textOf(call.input, "command");
  if (command !== null) {
    const long = command.length > FITS || command.includes("\n");
    return long ? <Output text={command} wrap language="bash" /> : null;
  }
  const questions = questionsOf(call);
  if (questions.length > 0) return <Questions questions={questions} />;
  const steps = stepsOf(call);
  if (steps.length > 0) return <Steps steps={steps} />;
  const asked = call.name === "WebFetch" ? textOf(call.input, "prompt") : null;
  if (asked !== null) return <p className="meta">Asked: {showControls(asked)}</p>;
  const plan = textOf(call.input, "plan") ?? textOf(call.input, "prompt");
  if (plan !== null) {
    return (
      <div className="block words">
        <Markdown text={plan} />
      </div>
    );
  }
  if (call.name === "Read" || call.name === "Glob" || hitsOf(call)) return null;
  return <Fields value={call.input} title={call.title} />;
}

function Result({ call, result }: { readonly call: Call; readonly result: CallResult }) {
  const well = call.state === "resolved";
  // What an edit answers is only the file again; what a list or a question answers stands in it already.
  if (well && (call.changes_file || SAID_BEFORE.has(call.name) || stepsOf(call).length > 0)) return null;
  const images = result.images.map((image) => (
    <figure key={image.href} className="block pic">
      <Picture href={image.href} alt={`Output of ${call.name}`} />
      {!SHARED && (
        <figcaption className="meta">{image.media_type}, from this archive, never fetched</figcaption>
      )}
    </figure>
  ));
  return (
    <>
      {images}
      <Answer call={call} result={result} bare={images.length > 0} well={well} />
    </>
  );
}

interface AnswerProps {
  readonly call: Call;
  readonly result: CallResult;
  /** Whether there is something else to see. */
  readonly bare: boolean;
  readonly well: boolean;
}

function Answer({ call, result, bare, well }: AnswerProps) {
  const note = <Rest result={result} />;
  const numbered = call.name === "Read" ? readLines(result.text) : null;
  if (numbered) return <Numbered lines={numbered} path={call.path ?? call.title} note={note} />;
  const hits = well ? hitsOf(call) : null;
  if (hits) return <HitsByFile files={hits} pattern={textOf(call.input, "pattern")} />;
  const results = webResultsOf(call);
  if (results.length > 0) return <WebResults results={results} />;
  const files = well ? filesOf(call) : null;
  if (files) return <Output text={files.join("\n")} note={note} />;
  if (!stripTerminal(result.text).trim()) {
    return bare ? null : <p className="meta">No output.</p>;
  }
  if (well && PROSE.has(call.name)) {
    return (
      <div className="block words">
        <Markdown text={result.text} />
        {note}
      </div>
    );
  }
  return <Output text={result.text} note={note} language={looksLikeJson(result.text) ? "json" : null} />;
}

function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text) && /[\]}]\s*$/.test(text);
}

function Rest({ result }: { readonly result: CallResult }) {
  if (result.offloaded) {
    return (
      <a className="morebar" href={result.offloaded.href} target="_blank" rel="noopener noreferrer">
        The full output is in a file of {formatBytes(result.offloaded.size)}:{" "}
        {showControls(result.offloaded.name)}
      </a>
    );
  }
  if (!result.truncated) return null;
  return (
    <p className="morebar">Truncated, {formatCounted(result.length, "character")} in full; see the raw line.</p>
  );
}
