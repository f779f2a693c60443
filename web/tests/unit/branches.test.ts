import { expect, test } from "vitest";

import type { Branch } from "@/api/types";
import { findWays } from "@/state/flow/branches";

const branch = (index: number, first: number, last: number, parent: number | null, active = false): Branch => ({
  index,
  first,
  last,
  parent,
  messages: last - first + 1,
  active,
});
// A trunk, two ways on, and two ways on from the second of them.
const TREE = [
  branch(0, 0, 5, null, true),
  branch(1, 6, 8, 5),
  branch(2, 9, 12, 5, true),
  branch(3, 13, 14, 12),
  branch(4, 15, 20, 12, true),
];
const shownIn = (ways: ReturnType<typeof findWays>) =>
  TREE.filter(({ index }) => ways.isShown(index)).map((b) => b.index);

test("by itself, the way to the newest message is shown", () => {
  expect(shownIn(findWays(TREE, new Map()))).toEqual([0, 2, 4]);
});

test("a choice hides the others, and what follows them", () => {
  expect(shownIn(findWays(TREE, new Map([[5, 1]])))).toEqual([0, 1]);
  expect(shownIn(findWays(TREE, new Map([[12, 3]])))).toEqual([0, 2, 3]);
});

test("a fork is known by the first message of each of its branches", () => {
  const ways = findWays(TREE, new Map());
  expect(ways.forkOf(2, 9)).toMatchObject({ at: 5, shown: 2, branches: [{ index: 1 }, { index: 2 }] });
  expect(ways.forkOf(2, 10)).toBeNull();
  expect(ways.forkOf(0, 0)).toBeNull();
});

test("what leads to a branch is chosen at every fork on the way", () => {
  expect([...findWays(TREE, new Map([[5, 1]])).leadTo(3)]).toEqual([
    [5, 2],
    [12, 3],
  ]);
});

test("a lone branch is no choice, and circles end", () => {
  expect(findWays([branch(0, 0, 1, null), branch(1, 2, 3, 1)], new Map()).isShown(1)).toBe(true);
  const circle = [branch(1, 2, 3, 3), branch(2, 3, 4, 3), branch(3, 1, 3, 4)];
  expect(() => findWays(circle, new Map()).leadTo(1)).not.toThrow();
});
