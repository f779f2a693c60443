/** What calls of known tools hold, in a form that can be drawn. Nothing of it is trusted to be there. Pure. */

import type { Call } from "@/api/types";
import { fieldOf, isRecord, listOf, textOf } from "@/lib/json";

export interface Step {
  readonly text: string;
  readonly status: string;
  readonly mark: "done" | "work" | "idle";
}

export interface Question {
  readonly text: string;
  readonly options: readonly {
    readonly label: string;
    readonly detail: string | null;
    readonly chosen: boolean;
  }[];
  /** What was answered in other words than those that were offered. */
  readonly other: string | null;
}

export interface WebResult {
  readonly title: string;
  readonly address: string;
}

export interface FileHits {
  readonly file: string | null;
  readonly lines: readonly { readonly number: string; readonly text: string; readonly hit: boolean }[];
}

const MARKS: Readonly<Record<string, Step["mark"]>> = { completed: "done", in_progress: "work" };

/** The steps of a todo list, or of a list of tasks. */
export function stepsOf(call: Call): readonly Step[] {
  const given = listOf(call.input, "todos");
  const listed = given.length > 0 ? given : listOf(call.result?.details, "tasks");
  return listed.filter(isRecord).map((step) => {
    const status = textOf(step, "status") ?? "pending";
    return {
      text: textOf(step, "content") ?? textOf(step, "subject") ?? JSON.stringify(step),
      status: status.replace("_", " "),
      mark: MARKS[status] ?? "idle",
    };
  });
}

/** What somebody was asked, with what they answered. */
export function questionsOf(call: Call): readonly Question[] {
  if (call.name !== "AskUserQuestion") return [];
  const answers = fieldOf(call.result?.details, "answers");
  return listOf(call.input, "questions")
    .filter(isRecord)
    .map((question) => {
      const text = textOf(question, "question") ?? "";
      const answer = textOf(answers, text) ?? answerInText(call, text);
      const options = listOf(question, "options").filter(isRecord);
      const labels = options.map((option) => textOf(option, "label") ?? "");
      const chosen = answer === null ? [] : chosenOf(answer, labels);
      return {
        text,
        options: options.map((option, at) => ({
          label: labels[at] ?? "",
          detail: textOf(option, "description"),
          chosen: chosen.includes(labels[at] ?? ""),
        })),
        other: answer !== null && chosen.length === 0 && answer.trim() ? answer : null,
      };
    });
}

/** Several answers are written with commas, and labels may have commas, too: the whole answer counts first. */
function chosenOf(answer: string, labels: readonly string[]): readonly string[] {
  if (labels.includes(answer)) return [answer];
  const parts = answer.split(/,\s*/);
  return parts.every((part) => labels.includes(part)) ? parts : [];
}

/** Older versions say it only in words: `"question"="answer"`. */
function answerInText(call: Call, question: string): string | null {
  const text = call.result?.text ?? "";
  const at = text.indexOf(`"${question}"="`);
  if (question === "" || at < 0) return null;
  const from = at + question.length + 4;
  const end = text.indexOf('"', from);
  return end < 0 ? null : text.slice(from, end);
}

/** What a search of the web found. */
export function webResultsOf(call: Call): readonly WebResult[] {
  return listOf(call.result?.details, "results").flatMap((result) =>
    listOf(result, "content").flatMap((item) => {
      const address = textOf(item, "url");
      return address === null ? [] : [{ title: textOf(item, "title") ?? address, address }];
    }),
  );
}

const HIT = /^(?:(.+?)[:-])?(\d+)([:-])(.*)$/s;
const MOST_HITS = 2000;

/** What a search through files found, by file; null if its answer is in another form. */
export function hitsOf(call: Call): readonly FileHits[] | null {
  const { result } = call;
  if (call.name !== "Grep" || !result) return null;
  const mode = textOf(result.details, "mode") ?? textOf(call.input, "output_mode") ?? "files_with_matches";
  if (mode !== "content") return null;
  const text = textOf(result.details, "content") ?? result.text;
  const only = textOf(call.input, "path");
  const files: { file: string | null; lines: FileHits["lines"][number][] }[] = [];
  for (const line of text.split("\n", MOST_HITS)) {
    if (line === "--" || line === "") continue;
    const [, named, number, sign, rest] = HIT.exec(line) ?? [];
    if (number === undefined || rest === undefined) return null;
    const file = named ?? only;
    const found = { number, text: rest, hit: sign === ":" };
    const last = files.at(-1);
    if (last?.file === file) last.lines.push(found);
    else files.push({ file, lines: [found] });
  }
  return files.length > 0 ? files : null;
}

/** Files that a search found, one in each line. */
export function filesOf(call: Call): readonly string[] | null {
  if (call.name !== "Glob" && call.name !== "Grep") return null;
  const names = listOf(call.result?.details, "filenames").filter((name) => typeof name === "string");
  return names.length > 0 ? names : null;
}
