import { expect, test } from "vitest";

import { compareLines, countChanges, readPatch } from "@/lib/diff";
import { changesOf, outcomeOf, readLines } from "@/state/calls";

import { answered, buildCall } from "../fixture/builders";

test.each([
  ["Exit code 127\n/bin/bash: pytest: command not found", "exit 127"],
  ["Error: Exit code 1", "exit 1"],
  ["<tool_use_error>File does not exist.</tool_use_error>", "File does not exist."],
  ["\u001b[31mEISDIR\u001b[0m: it is a folder", "EISDIR: it is a folder"],
  ["", "failed"],
])("a failure of %j is told as %j", (text, told) => {
  expect(outcomeOf(buildCall({ name: "Bash", state: "failed", result: answered(text) }))).toEqual({
    kind: "failed",
    text: told,
  });
});

test("a long reason is cut", () => {
  const outcome = outcomeOf(buildCall({ name: "X", state: "failed", result: answered("word ".repeat(40)) }));
  expect(outcome.text.length).toBeLessThanOrEqual(48);
  expect(outcome.text.endsWith("…")).toBe(true);
});

test.each([
  ["rejected", "turned down"],
  ["interrupted", "interrupted"],
  ["unresolved", "no result in the file"],
  ["placeholder", "in the background"],
] as const)("a call that was %s says %s", (state, text) => {
  expect(outcomeOf(buildCall({ name: "Bash", state })).text).toBe(text);
});

test("a file that was read tells its lines", () => {
  expect(outcomeOf(buildCall({ name: "Read", result: answered("1→a\n2→b") })).text).toBe("2 lines");
  expect(readLines("     1→a\n    12→\tb\nrest")).toEqual([
    ["1", "a"],
    ["12", "\tb"],
    ["", "rest"],
  ]);
  expect(readLines("no numbers")).toBeNull();
});

test("an edit tells what was put in and taken out", () => {
  const edit = buildCall({
    name: "Edit",
    changes_file: true,
    input: { old_string: "a\nb\nc", new_string: "a\nx\ny\nc" },
  });
  expect(outcomeOf(edit)).toMatchObject({ kind: "changed", added: 2, removed: 1 });
  expect(changesOf(buildCall({ name: "Read", input: { old_string: "a", new_string: "b" } }))).toBeNull();
});

test("the program's own patch has the numbers of the file", () => {
  const patch = readPatch([{ oldStart: 10, newStart: 12, lines: [" a", "-b", "+c", " d"] }]);
  expect(patch?.map((line) => [line.kind, line.old, line.new])).toEqual([
    ["same", 10, 12],
    ["del", 11, null],
    ["add", null, 13],
    ["same", 12, 14],
  ]);
  expect(readPatch([])).toBeNull();
  expect(readPatch("x")).toBeNull();
  expect(readPatch([{ lines: [1, " a"] }])).toHaveLength(1);
});

test("texts too long to compare go out and in as a whole", () => {
  const long = Array.from({ length: 500 }, (_, n) => `line ${n}`).join("\n");
  expect(countChanges(compareLines(long, `${long}\nmore`))).toEqual({ added: 501, removed: 500 });
  expect(countChanges(compareLines("", "a\nb"))).toEqual({ added: 2, removed: 0 });
});
