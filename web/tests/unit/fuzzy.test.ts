import { expect, test } from "vitest";

import { matchText } from "@/lib/fuzzy";
import { nextScope, rank, readAsked } from "@/state/palette";

const best = (query: string, ...titles: string[]) =>
  rank(
    titles.map((title) => ({ id: title, title })),
    query,
    9,
  ).map((entry) => entry.title);

test("whole, at a word, anywhere, by letters: in this order", () => {
  expect(best("tar", "Start", "Add tar support", "target", "t-a-r", "nothing")).toEqual([
    "target",
    "Add tar support",
    "Start",
    "t-a-r",
  ]);
});

test("words may stand in any order, letters may begin words", () => {
  expect(matchText("archive tar", "Add tar archive")?.marks).toEqual([
    [4, 7],
    [8, 15],
  ]);
  expect(matchText("gm", "go to mission")?.marks).toEqual([
    [0, 1],
    [6, 7],
  ]);
  expect(matchText("ace", "xaxcxe")).toBeNull();
});

test("marks are where the text says it", () => {
  const { marks } = matchText("Gull", "count gulls") ?? { marks: [] };
  expect(marks.map(([start, end]) => "count gulls".slice(start, end))).toEqual(["gull"]);
});

test("letters that grow in lower case do not move marks", () => {
  expect(matchText("stanbul", "İstanbul")).toEqual({ score: 50, marks: [] });
});

test("without a text everything comes, in its own order", () => {
  expect(best("", "b", "a")).toEqual(["b", "a"]);
});

test("a sign chooses what is looked for", () => {
  expect(readAsked("> star", "everything")).toEqual({ scope: "commands", text: "star" });
  expect(readAsked("@tea", "messages")).toEqual({ scope: "projects", text: "tea" });
  expect(readAsked("tea", "messages")).toEqual({ scope: "messages", text: "tea" });
  expect(nextScope("everything", 1)).toBe("sessions");
  expect(nextScope("everything", -1)).toBe("tags");
});
