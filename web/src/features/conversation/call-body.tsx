/** What went into a call and what came out, in the form that suits its tool; of unknown tools, as it is. */

import type { Call, CallResult } from "@/api/types";
import { formatBytes, formatCounted } from "@/lib/format";
import { fieldOf, isRecord, listOf, printJson, textOf } from "@/lib/json";
import { showControls, stripTerminal } from "@/lib/visible";
import { changesOf, readLines } from "@/state/calls";
import { Diff, Numbered, Output } from "@/ui/code";
import { Markdown } from "@/ui/markdown";

/** An argument that fits the row is not repeated under it. */
const FITS = 90;

export function CallBody({ call }: { readonly call: Call }) {
  return (
    <div className="in">
      <Input call={call} />
      {call.result && <Result call={call} result={call.result} />}
    </div>
  );
}

function Input({ call }: { readonly call: Call }) {
  const changes = changesOf(call);
  if (changes) return <Diff lines={changes} />;
  const command = textOf(call.input, "command");
  if (command !== null) {
    return command.length > FITS || command.includes("\n") ? <Output text={command} wrap /> : null;
  }
  const todos = listOf(call.input, "todos");
  if (todos.length > 0) return <Todos todos={todos} />;
  const plan = textOf(call.input, "plan") ?? textOf(call.input, "prompt");
  if (plan !== null) {
    return (
      <div className="block words">
        <Markdown text={plan} />
      </div>
    );
  }
  return <Fields value={call.input} title={call.title} />;
}

function Result({ call, result }: { readonly call: Call; readonly result: CallResult }) {
  // What an edit answers is only the file again.
  if (call.state === "resolved" && (call.changes_file || listOf(call.input, "todos").length > 0)) return null;
  const note = <Rest result={result} />;
  const images = result.images.map((image) => (
    <img key={image.href} className="shot" src={image.href} alt={`Answer of ${call.name}`} loading="lazy" />
  ));
  const numbered = call.name === "Read" ? readLines(result.text) : null;
  if (numbered) return <Numbered lines={numbered} />;
  const text = stripTerminal(result.text);
  return (
    <>
      {images}
      {text.trim() ? (
        <Output text={text} wrap={call.category === "agent"} note={note} />
      ) : (
        images.length === 0 && <p className="meta">It answered nothing.</p>
      )}
    </>
  );
}

function Rest({ result }: { readonly result: CallResult }) {
  if (result.offloaded) {
    return (
      <a className="morebar" href={result.offloaded.href} target="_blank" rel="noopener noreferrer">
        The whole answer is a file of {formatBytes(result.offloaded.size)}:{" "}
        {showControls(result.offloaded.name)}
      </a>
    );
  }
  if (!result.truncated) return null;
  return (
    <p className="morebar">Cut here, of {formatCounted(result.length, "character")}; the raw line has all.</p>
  );
}

/** Keys and values of an input; one that only repeats the row's own argument is left out. */
function Fields({ value, title }: { readonly value: unknown; readonly title: string }) {
  if (!isRecord(value)) return value == null ? null : <Output text={printJson(value)} wrap />;
  const fields = Object.entries(value);
  const [only] = fields;
  if (!only || (fields.length === 1 && only[1] === title)) return null;
  return (
    <div className="block">
      <dl className="kv">
        {fields.map(([name, field]) => (
          <Field key={name} name={name} value={field} />
        ))}
      </dl>
    </div>
  );
}

const LONGEST_FIELD = 2000;

function Field({ name, value }: { readonly name: string; readonly value: unknown }) {
  const text = printJson(value);
  const cut = text.length > LONGEST_FIELD ? `${text.slice(0, LONGEST_FIELD)}…` : text;
  return (
    <>
      <dt>{showControls(name)}</dt>
      <dd>{showControls(cut)}</dd>
    </>
  );
}

const TODO_MARKS: Readonly<Record<string, string>> = { completed: "done", in_progress: "work" };

function Todos({ todos }: { readonly todos: readonly unknown[] }) {
  return (
    <div className="block todos">
      <ul>
        {todos.map((todo, at) => {
          const status = String(fieldOf(todo, "status"));
          const mark = TODO_MARKS[status] ?? "idle";
          return (
            <li key={at} className={mark === "work" ? "now" : mark === "idle" ? "o" : undefined}>
              {/* In a transcript nothing turns: it was so at that moment. */}
              <span className={`st st-${mark} still`} aria-hidden="true" />
              <span>
                {showControls(textOf(todo, "content") ?? printJson(todo))}
                <span className="sr">, {status}</span>
              </span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
