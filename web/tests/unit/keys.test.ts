import { expect, test, vi } from "vitest";

import { createMatcher } from "@/state/keys";
import type { Binding } from "@/state/keys";

const binding = (keys: string): Binding => ({ keys, label: keys, run: vi.fn() });
const stroke = (key: string, change = {}) => ({ key, typing: false, modified: false, ...change });

function matcher(...tables: string[][]) {
  let time = 0;
  const match = createMatcher(
    () => tables.map((table) => table.map(binding)),
    () => time,
  );
  return {
    match: (key: string, change = {}) => match(stroke(key, change))?.keys ?? null,
    wait: (ms: number) => (time += ms),
  };
}

test("a key is what its binding says, with its case", () => {
  const { match } = matcher(["j", "J"]);
  expect([match("j"), match("J"), match("x")]).toEqual(["j", "J", null]);
});

test("the page's own keys come before the shell's", () => {
  const tables = [[{ ...binding("s"), label: "shell" }], [{ ...binding("s"), label: "page" }]];
  expect(createMatcher(() => tables)(stroke("s"))?.label).toBe("page");
});

test("two keys in a row are one, and are not mistaken for the second alone", () => {
  const { match } = matcher(["g s", "s"]);
  expect([match("g"), match("s"), match("s")]).toEqual([null, "g s", "s"]);
});

test("the second key has to follow soon", () => {
  const { match, wait } = matcher(["g s", "s"]);
  match("g");
  wait(2000);
  expect(match("s")).toBe("s");
});

test("what is typed into a field is no command, except for Escape", () => {
  const { match } = matcher(["j", "Escape"]);
  expect([match("j", { typing: true }), match("Escape", { typing: true })]).toEqual([null, "Escape"]);
});

test("a key with Ctrl is one, also while one types", () => {
  const { match } = matcher(["Ctrl+K", "k"]);
  expect(match("k", { modified: true, command: true, typing: true })).toBe("Ctrl+K");
  expect(match("j", { modified: true, command: true })).toBeNull();
});

test("the space bar is no beginning of two keys", () => {
  const { match } = matcher([" ", "g s", "s"]);
  expect([match(" "), match("s")]).toEqual([" ", "s"]);
});

test("the browser keeps its own shortcuts", () => {
  const { match } = matcher(["j"]);
  expect(match("j", { modified: true })).toBeNull();
});
