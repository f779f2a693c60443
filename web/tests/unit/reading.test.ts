import { expect, test } from "vitest";

import type { Hit } from "@/api/types";
import { firstFrom, orderHits, wordsIn } from "@/state/find";
import { callMarkdown, turnMarkdown } from "@/state/flow/as-markdown";
import { countOperations, filterGroups, groupAt } from "@/state/sidechain";

import { answered, buildAnswer, buildCall, buildPrompt, callBlock, textBlock } from "../fixture/builders";

const hit = (message: number, change: Partial<Hit> = {}) =>
  ({
    kind: "answer",
    session: "s",
    source: "s",
    message,
    message_uuid: `u${message}`,
    call: null,
    created_at: `t${message}`,
    ...change,
  }) as Hit;

test("hits come in the order of the conversation, each place once, titles left out", () => {
  const places = orderHits(
    [
      hit(9),
      hit(2, { call: 3 }),
      hit(2, { call: 3, kind: "tool-output" }),
      hit(5, { source: "agent", created_at: "t3" }),
      hit(0, { message: null }),
    ],
    "s",
  );
  expect(places.map(({ index, source, call }) => [index, source, call])).toEqual([
    [2, null, 3],
    [5, "agent", null],
    [9, null, null],
  ]);
  expect(firstFrom(places, 3)).toBe(2);
  expect(firstFrom(places, 99)).toBe(0);
});

test("filters are no words", () => {
  expect(wordsIn('tool:Bash "high water" -no OR (tide*')).toEqual(["high water", "tide"]);
});

test("the group of a message is its own, or that of the answer before it", () => {
  const group = (message: number, failed = 0) => ({
    message,
    message_uuid: String(message),
    title: "",
    operations: 2,
    failed,
    duration_ms: null,
    categories: { mcp: failed },
  });
  const groups = [group(3), group(7, 1), group(20)];
  expect([0, 3, 6, 7, 19, 99].map((message) => groupAt(groups, message))).toEqual([-1, 0, 0, 1, 1, 2]);
  expect(countOperations(groups)).toMatchObject({ all: 6, failed: 1, mcp: 1 });
  expect(filterGroups(groups, "failed")).toEqual([groups[1]]);
});

test("a turn is Markdown under who said it, and fences hold what they hold", () => {
  const call = buildCall({
    name: "Bash",
    title: "ls `x`",
    input: { command: "ls" },
    result: answered("```\ninner\n```"),
  });
  expect(callMarkdown(call)).toContain("````\n```\ninner\n```\n````");
  expect(
    turnMarkdown([
      buildPrompt(0, "Look", 0),
      buildAnswer(1, [textBlock("I do."), callBlock(call)], 0),
      buildAnswer(2, [textBlock("Done.")], 0),
    ]),
  ).toBe("## You\n\nLook\n\n## Claude\n\nI do.\n\n- **Bash** `` ls `x` `` (0.1 s)\n\nDone.\n");
});
