import { expect, test } from "vitest";

import type { MessageWindow } from "@/api/types";
import {
  countLoaded,
  emptyLayout,
  fitTotal,
  GUESSED_HEIGHT,
  indexInGap,
  insertWindow,
  keepOnly,
} from "@/state/flow/layout";
import type { Layout } from "@/state/flow/layout";

import { buildMessage } from "../fixture/builders";

function window(first: number, last: number, total = 1000): MessageWindow {
  return {
    items: Array.from({ length: last - first + 1 }, (_, n) => buildMessage(first + n)),
    total,
    before: first > 0 ? `b${first}` : null,
    after: last < total - 1 ? `a${last}` : null,
    revision: 1,
  };
}

/** `0-9 . 10-99` : a stretch, then a gap. */
function draw(layout: Layout): string {
  return layout.map((part) => `${part.kind === "gap" ? "." : ""}${part.first}-${part.last}`).join(" ");
}

const heights = (layout: Layout) =>
  layout.reduce((sum, part) => (part.kind === "gap" ? sum + part.height : sum), 0);

test("what is not loaded is a gap of its likely height", () => {
  const layout = insertWindow([], window(0, 79));
  expect(draw(layout)).toBe("0-79 .80-999");
  expect(heights(layout)).toBe(920 * GUESSED_HEIGHT);
});

test("a window in the middle leaves a gap on both sides, which share the height", () => {
  const layout = insertWindow(emptyLayout(1000), window(400, 499));
  expect(draw(layout)).toBe(".0-399 400-499 .500-999");
  expect(heights(layout)).toBeCloseTo(900 * GUESSED_HEIGHT);
});

test("windows that touch become one stretch, with the cursors of its ends", () => {
  const layout = insertWindow(insertWindow([], window(400, 499)), window(500, 579));
  expect(draw(layout)).toBe(".0-399 400-579 .580-999");
  expect(layout[1]).toMatchObject({ before: "b400", after: "a579" });
});

test("what overlaps is there once", () => {
  const layout = insertWindow(insertWindow([], window(400, 499)), window(450, 549));
  expect(draw(layout)).toBe(".0-399 400-549 .550-999");
  expect(countLoaded(layout)).toBe(150);
});

test("a window that fills a gap closes it", () => {
  const layout = insertWindow(insertWindow(insertWindow([], window(0, 79)), window(120, 199)), window(70, 130));
  expect(draw(layout)).toBe("0-199 .200-999");
  expect(countLoaded(layout)).toBe(200);
});

test("letting go gives the measured height back to the gap", () => {
  const loaded = insertWindow(insertWindow([], window(0, 79)), window(80, 159));
  const layout = keepOnly(loaded, 100, 140, (first, last) => (last - first + 1) * 10);
  expect(draw(layout)).toBe(".0-99 100-140 .141-999");
  expect(layout[0]).toMatchObject({ height: 1000 });
  expect(layout[2]).toMatchObject({ height: 19 * 10 + 840 * GUESSED_HEIGHT });
});

test("where a stretch was cut its cursors no longer lead on", () => {
  const loaded = insertWindow([], window(400, 499));
  expect(keepOnly(loaded, 420, 480, () => 0)[1]).toMatchObject({
    first: 420,
    last: 480,
    before: null,
    after: null,
  });
  expect(keepOnly(loaded, 400, 480, () => 0)[1]).toMatchObject({ before: "b400", after: null });
});

test("a conversation that grew has a gap at its end, one that shrank loses it", () => {
  const loaded = insertWindow([], window(0, 9, 10));
  expect(draw(fitTotal(loaded, 14))).toBe("0-9 .10-13");
  expect(draw(fitTotal(loaded, 6))).toBe("0-5");
  expect(draw(fitTotal([], 0))).toBe("");
});

test("a height of a gap tells which message stands there", () => {
  const gap = { kind: "gap", first: 100, last: 199, height: 1000 } as const;
  expect([indexInGap(gap, -5), indexInGap(gap, 0), indexInGap(gap, 505), indexInGap(gap, 5000)]).toEqual([
    100, 100, 150, 199,
  ]);
});

test("where nothing stands above or below there is no gap, whatever the numbers", () => {
  const own = [3, 4, 9].map((index) => buildMessage(index));
  const layout = insertWindow([], { items: own, total: 1000, before: null, after: null, revision: 1 });
  expect(draw(layout)).toBe("3-9");
  const grown = insertWindow(layout, {
    items: [buildMessage(12)],
    total: 1010,
    before: "12",
    after: null,
    revision: 1,
  });
  expect(draw(grown)).toBe("3-9 .10-11 12-12");
});
