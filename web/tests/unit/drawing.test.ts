import { expect, test } from "vitest";

import { Drawing, FRAME } from "@/lib/drawing";

function start() {
  const frames: (() => void)[] = [];
  const drawing = new Drawing((then) => frames.push(then));
  const nextFrame = () => {
    for (const then of frames.splice(0)) then();
  };
  return { drawing, nextFrame };
}

test("what fits into a frame is drawn at once, what does not waits", () => {
  const { drawing } = start();
  expect(drawing.take(FRAME / 2)).toBe(true);
  expect(drawing.take(FRAME / 2)).toBe(true);
  expect(drawing.take(1)).toBe(false);
});

test("each frame has room again", () => {
  const { drawing, nextFrame } = start();
  drawing.take(FRAME);
  nextFrame();
  expect(drawing.take(FRAME)).toBe(true);
});

test("what waits is drawn in the order in which it was asked for, as much as fits into each frame", () => {
  const { drawing, nextFrame } = start();
  const drawn: number[] = [];
  drawing.take(FRAME);
  for (const n of [1, 2, 3]) drawing.wait(FRAME / 2, () => drawn.push(n));
  nextFrame();
  expect(drawn).toEqual([1, 2]);
  nextFrame();
  expect(drawn).toEqual([1, 2, 3]);
});

test("nobody overtakes those who wait", () => {
  const { drawing } = start();
  drawing.wait(FRAME / 2, () => undefined);
  expect(drawing.take(1)).toBe(false);
});

test("what is too heavy for any frame has one to itself", () => {
  const { drawing, nextFrame } = start();
  const drawn: string[] = [];
  expect(drawing.take(9 * FRAME)).toBe(true);
  drawing.wait(9 * FRAME, () => drawn.push("heavy"));
  drawing.wait(1, () => drawn.push("light"));
  nextFrame();
  expect(drawn).toEqual(["heavy"]);
  nextFrame();
  expect(drawn).toEqual(["heavy", "light"]);
});

test("what has gone meanwhile is not drawn", () => {
  const { drawing, nextFrame } = start();
  const drawn: string[] = [];
  drawing.wait(1, () => drawn.push("gone"))();
  nextFrame();
  expect(drawn).toEqual([]);
});
