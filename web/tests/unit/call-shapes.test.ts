import { expect, test } from "vitest";

import { hitsOf, questionsOf, stepsOf, webResultsOf } from "@/state/call-shapes";
import { nameOf } from "@/state/call-names";

import { answered, buildCall } from "../fixture/builders";

test("answers are ticked, by their fields, by their words, or in own words", () => {
  const ask = (details: unknown, text = "ok") =>
    questionsOf(
      buildCall({
        name: "AskUserQuestion",
        input: { questions: [{ question: "Which?", options: [{ label: "A, b" }, { label: "C" }] }] },
        result: answered(text, { details }),
      }),
    )[0];
  expect(ask({ answers: { "Which?": "A, b" } })?.options.map((option) => option.chosen)).toEqual([true, false]);
  expect(ask({ answers: { "Which?": "A, b, C" } })?.other).toBe("A, b, C");
  expect(ask(null, 'Said: "Which?"="C".')?.options.map((option) => option.chosen)).toEqual([false, true]);
  expect(ask({ answers: "no object" })?.other).toBeNull();
});

test("hits are grouped by file, with what stands near them", () => {
  const grep = (text: string, path?: string) =>
    hitsOf(buildCall({ name: "Grep", input: { output_mode: "content", path }, result: answered(text) }));
  expect(grep("a.py:1:x\na.py-2-y\n--\nb.py:9:z")).toEqual([
    {
      file: "a.py",
      lines: [
        { number: "1", text: "x", hit: true },
        { number: "2", text: "y", hit: false },
      ],
    },
    { file: "b.py", lines: [{ number: "9", text: "z", hit: true }] },
  ]);
  expect(grep("104:only", "one.ps1")?.[0]?.file).toBe("one.ps1");
  expect(grep("No matches found")).toBeNull();
  expect(grep("")).toBeNull();
});

test("steps and results of any shape do no harm", () => {
  const odd = [null, 3, "x", { todos: [null, 3, { status: 7 }] }, { todos: "no" }];
  for (const input of odd) {
    expect(() => stepsOf(buildCall({ name: "TodoWrite", input }))).not.toThrow();
    expect(() => nameOf(buildCall({ name: "TodoWrite", input }))).not.toThrow();
    expect(() => questionsOf(buildCall({ name: "AskUserQuestion", input }))).not.toThrow();
    expect(() =>
      webResultsOf(buildCall({ name: "WebSearch", result: answered("", { details: input }) })),
    ).not.toThrow();
  }
});

test("tools of servers go by their own name", () => {
  expect(nameOf(buildCall({ name: "mcp__tides__look_up" }))).toMatchObject({
    name: "look_up",
    argument: "tides",
  });
  expect(nameOf(buildCall({ name: "__proto__" })).name).toBe("__proto__");
});
