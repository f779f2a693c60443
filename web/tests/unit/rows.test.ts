import { expect, test } from "vitest";

import type { Message } from "@/api/types";
import { findWays } from "@/state/flow/branches";
import { buildRows } from "@/state/flow/rows";
import type { Row, RowOptions } from "@/state/flow/rows";
import { insertWindow } from "@/state/flow/layout";

import {
  buildAnswer,
  buildCall,
  buildMessage,
  buildPrompt,
  buildTurn,
  callBlock,
  textBlock,
  thinkingBlock,
} from "../fixture/builders";

const OPTIONS: RowOptions = { level: "calls", turns: [], openRuns: new Set() };

function rowsOf(messages: readonly Message[], change: Partial<RowOptions> = {}): Row[] {
  const window = { items: [...messages], total: messages.length, before: null, after: null, revision: 1 };
  return buildRows(insertWindow([], window), { ...OPTIONS, ...change });
}

const kinds = (rows: readonly Row[]) => rows.map((row) => row.kind);
const calls = (index: number, count: number, failed = -1) =>
  buildAnswer(
    index,
    Array.from({ length: count }, (_, n) =>
      callBlock(buildCall({ index: n, name: "Read", state: n === failed ? "failed" : "resolved" })),
    ),
    0,
  );

test("each block is a row of its own, in order", () => {
  const answer = buildAnswer(
    1,
    [thinkingBlock("hm"), textBlock("so"), callBlock(buildCall({ name: "Bash" }))],
    0,
  );
  expect(kinds(rowsOf([buildPrompt(0, "do", 0), answer]))).toEqual(["prompt", "thinking", "text", "call"]);
});

test("thinking of which only the signature was kept is no row", () => {
  expect(kinds(rowsOf([buildAnswer(0, [thinkingBlock("")], 0)]))).toEqual([]);
});

test("at level prose calls are counted, not shown", () => {
  const rows = rowsOf([buildAnswer(0, [textBlock("so")], 0), calls(1, 3), calls(2, 2)], { level: "prose" });
  expect(kinds(rows)).toEqual(["text", "stub"]);
  expect(rows[1]).toMatchObject({ calls: { length: 5 } });
});

test("a long run of calls is folded across messages until it is opened", () => {
  const messages = [calls(0, 5), calls(1, 7, 6)];
  const rows = rowsOf(messages);
  expect(kinds(rows)).toEqual([...Array<string>(6).fill("call"), "more"]);
  const more = rows.at(-1);
  expect(more).toMatchObject({ calls: { length: 6 }, run: "0-0" });
  expect(kinds(rowsOf(messages, { openRuns: new Set(["0-0"]) }))).toEqual(Array<string>(12).fill("call"));
});

test("a run of eight is not folded", () => {
  expect(kinds(rowsOf([calls(0, 8)]))).toEqual(Array<string>(8).fill("call"));
});

test("what a conversation begins with is shown, even if nothing goes on from there", () => {
  const start = buildAnswer(0, [textBlock("a")], 0, { active: false });
  expect(kinds(rowsOf([start, buildAnswer(1, [textBlock("b")], 0)]))).toEqual(["text", "text"]);
});

test("another branch is told in one line, opens, and is shown at level all", () => {
  const aside = [1, 2].map((index) =>
    buildAnswer(index, [textBlock("a"), textBlock("b")], 0, { active: false, branch: 1 }),
  );
  const messages = [buildPrompt(0, "do", 0), ...aside, buildAnswer(3, [textBlock("c")], 0)];
  const roots = [
    { index: 0, parent: null, first: 0, last: 3, messages: 2, active: true },
    { index: 1, parent: null, first: 1, last: 2, messages: 2, active: false },
  ];
  const ways = findWays(roots, new Map());
  const rows = rowsOf(messages, { ways });
  expect(kinds(rows)).toEqual(["prompt", "branch", "text"]);
  expect(rows[1]).toMatchObject({ messages: 2, run: "1-branch" });
  expect(rowsOf(messages, { ways, openRuns: new Set(["1-branch"]) })).toHaveLength(6);
  const whole = ["prompt", "text", "text", "text", "text", "text"];
  expect(kinds(rowsOf(messages, { ways, level: "all" }))).toEqual(whole);
});

test("what ends within the branch that goes on is not folded", () => {
  const messages = [
    buildPrompt(0, "do", 0),
    buildAnswer(1, [textBlock("done")], 0, { active: false }),
    buildAnswer(2, [textBlock("summary of earlier messages")], 0),
  ];
  const ways = findWays([{ index: 0, parent: null, first: 0, last: 2, messages: 3, active: true }], new Map());
  expect(kinds(rowsOf(messages, { ways }))).toEqual(["prompt", "text", "text"]);
});

test("one line of the program that follows nothing is no branch", () => {
  const done = buildMessage(1, {
    role: "system",
    rule: "system",
    blocks: [textBlock("Session completed: success")],
    active: false,
    branch: 1,
  });
  const roots = [
    { index: 0, parent: null, first: 0, last: 0, messages: 1, active: true },
    { index: 1, parent: null, first: 1, last: 1, messages: 1, active: false },
  ];
  const rows = rowsOf([buildPrompt(0, "do", 0), done], { ways: findWays(roots, new Map()) });
  expect(kinds(rows)).not.toContain("branch");
  expect(rows).toHaveLength(2);
});

test("a turn ends with its sums where the next begins", () => {
  const first = buildPrompt(0, "one", 0);
  const turns = [buildTurn(0, first)];
  const rows = rowsOf([first, buildAnswer(1, [textBlock("a")], 0), buildPrompt(2, "two", 1)], { turns });
  expect(kinds(rows)).toEqual(["prompt", "text", "turn-end", "prompt"]);
});

test("the time stands only where the minute changes", () => {
  const at = (index: number, created_at: string) => buildAnswer(index, [textBlock("a")], 0, { created_at });
  const rows = rowsOf([
    at(0, "2025-11-29T09:00:01Z"),
    at(1, "2025-11-29T09:00:59Z"),
    at(2, "2025-11-29T09:01:00Z"),
  ]);
  expect(rows.map((row) => row.kind === "text" && row.timed)).toEqual([true, false, true]);
});

test.each([
  ["interruption", null, "mark"],
  ["compaction", "system", "compaction"],
  ["recap", null, "summary"],
  ["system", "error", "error"],
  ["system", "snapshot", "system"],
  ["hook", "hook", "system"],
  ["ran-command", null, "system"],
  ["unknown", "system", "unknown"],
  ["something-new", null, "system"],
] as const)("a line of rule %s and category %s is a row of kind %s", (rule, category, kind) => {
  expect(kinds(rowsOf([buildMessage(0, { rule, category, content: "x" })]))).toEqual([kind]);
});

test("keys are unique, and stay when windows come in before", () => {
  const messages = Array.from({ length: 30 }, (_, index) =>
    buildAnswer(index, [textBlock("a"), callBlock(buildCall({ name: "Read" }))], 0),
  );
  const all = rowsOf(messages).map((row) => row.key);
  expect(new Set(all).size).toBe(all.length);
  const part = buildRows(
    insertWindow([], { items: messages.slice(10), total: 30, before: "b", after: null, revision: 1 }),
    OPTIONS,
  );
  expect(part[0]).toMatchObject({ kind: "gap" });
  expect(all).toEqual(expect.arrayContaining(part.slice(1).map((row) => row.key)));
});

test("a permission mode that changes is marked once, before the prompt that was typed in it", () => {
  const prompt = (index: number, mode: string | null, change: Partial<Message> = {}) =>
    buildPrompt(index, "do", index, { permission_mode: mode, ...change });
  const rows = rowsOf([
    prompt(0, "default"),
    prompt(1, "default"),
    prompt(2, "plan"),
    prompt(3, null),
    prompt(4, "acceptEdits", { lane: "agent" }),
    prompt(5, "acceptEdits"),
  ]);
  const marks = rows.flatMap((row) => (row.kind === "mark" ? [[row.index, row.change]] : []));
  expect(marks).toEqual([
    [2, { of: "mode", before: "default", now: "plan" }],
    [5, { of: "mode", before: "plan", now: "acceptEdits" }],
  ]);
});

test("metadata is not drawn, unless it is what was asked for", () => {
  const messages = [buildPrompt(0, "Go", 0), buildMessage(1, { rule: "meta", content: "config loaded" })];
  for (const level of ["prose", "calls", "all"] as const) {
    expect(kinds(rowsOf(messages, { level }))).toEqual(["prompt"]);
    expect(kinds(rowsOf(messages, { level, asked: 1 }))).toEqual(["prompt", "system"]);
  }
  expect(kinds(rowsOf(messages, { asked: messages[1]?.uuid ?? "" }))).toEqual(["prompt", "system"]);
});

test("the steps of a compaction are one row, with what was kept below it", () => {
  const steps = [
    { state: "compacting", kept: "prelude" },
    { state: "compacted", kept: "recap" },
    { state: "restoring", kept: null },
    { state: "restored", kept: null },
  ] as const;
  const rows = rowsOf(
    steps.map((compaction, index) => buildMessage(index, { rule: "compaction", compaction, content: "x" })),
  );
  expect(rows.map((row) => (row.kind === "compaction" ? row.step : row.kind))).toEqual([
    "compacted",
    "summary",
    "summary",
    "restored",
  ]);
});

test("what happened between messages is one row, of what the level has", () => {
  const note = (line: number, category: "queue" | "snapshot" | "system") => ({
    line,
    message: 0,
    category,
    text: `${category} ${line}`,
    created_at: null,
  });
  const notes = new Map([[0, [note(1, "snapshot"), note(2, "queue"), note(3, "system")]]]);
  const messages = [buildPrompt(0, "Go", 0), buildAnswer(1, [textBlock("Gone.")], 0)];
  const noted = (level: RowOptions["level"]) =>
    rowsOf(messages, { level, notes }).flatMap((row) =>
      row.kind === "notes" ? row.notes.map((each) => each.line) : [],
    );
  expect(noted("prose")).toEqual([]);
  expect(noted("calls")).toEqual([1]);
  expect(noted("all")).toEqual([1, 2, 3]);
});
