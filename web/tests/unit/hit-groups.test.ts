import { expect, test } from "vitest";

import type { Hit, Hits } from "@/api/types";
import { nearFirstMark, toUnit, toUnits } from "@/lib/units";
import { groupHits, tally, wordsOf } from "@/state/hit-groups";

function hit(session: string, snippet: string, change: Partial<Hit> = {}): Hit {
  return {
    kind: "answer",
    session,
    session_id: session,
    project: null,
    title: session,
    source: session,
    message: 0,
    message_uuid: snippet,
    call: null,
    tool: null,
    role: "assistant",
    model: null,
    agent_id: null,
    is_error: false,
    created_at: null,
    snippet,
    marks: [],
    ...change,
  };
}

const page = (...items: Hit[]): Hits => ({ items, next: null, unreadable: 0 });
const shape = (pages: Hits[]) =>
  groupHits(pages).map(
    (group) => `${group.title} ${group.hits.map(({ hit: { snippet }, at }) => `${snippet}${at}`).join(" ")}`,
  );

test("hits of a session stand together, numbered as they stand", () => {
  expect(shape([page(hit("a", "x"), hit("b", "y"), hit("a", "z"))])).toEqual(["a x0 z1", "b y2"]);
});

test("a later page never changes what is above, but for the last group", () => {
  const first = page(hit("a", "x"), hit("b", "y"));
  expect(shape([first, page(hit("b", "z"), hit("a", "w"))])).toEqual(["a x0", "b y1 z2", "a w3"]);
});

test("marks are in characters, and strings in UTF-16 units", () => {
  const text = "🐢🐢 tea";
  const marks = toUnits(text, [{ start: 3, end: 6 }]);
  expect(marks.map(([start, end]) => text.slice(start, end))).toEqual(["tea"]);
  expect(toUnit("ab", 1)).toBe(1);
  expect(wordsOf(hit("a", text), marks)).toEqual(["tea"]);
});

test("on a single line the first mark is in sight", () => {
  const text = "a long way before anything happens, and then tea";
  const at = text.indexOf("tea");
  const near = nearFirstMark(text, [[at, at + 3]]);
  expect(near.title).toBe("…happens, and then tea");
  expect(near.marks.map(([start, end]) => near.title.slice(start, end))).toEqual(["tea"]);
  expect(nearFirstMark("tea first", [[0, 3]]).title).toBe("tea first");
});

test("tallies count what is named", () => {
  const hits = [
    hit("a", "", { tool: "Read" }),
    hit("a", "", { tool: "Bash" }),
    hit("a", "", { tool: "Read" }),
    hit("a", ""),
  ];
  expect(tally(hits, ({ tool }) => tool)).toEqual([
    { name: "Read", count: 2 },
    { name: "Bash", count: 1 },
  ]);
});
