import { expect, test } from "vitest";

import { compareLines } from "@/lib/diff";
import { compareWords, markWords } from "@/lib/words";

test("only the words that differ are marked", () => {
  const [out, into] = compareWords("x = read(path)", "x = read(path, unit)") ?? [[], []];
  expect(out).toEqual([{ text: "x = read(path)", changed: false }]);
  expect(into.filter((piece) => piece.changed)).toEqual([{ text: ", unit", changed: true }]);
  expect(into.map((piece) => piece.text).join("")).toBe("x = read(path, unit)");
});

test("lines with little in common are two lines", () => {
  expect(compareWords("abc", "xyz + 1 - foo")).toBeNull();
  expect(compareWords("", "x")).toBeNull();
});

test("lines are compared where as many went as came", () => {
  const even = compareLines("a one\nb two", "a uno\nb dos");
  expect(markWords(even).size).toBe(4);
  const odd = compareLines("a one\nb two", "a uno");
  expect(markWords(odd).size).toBe(0);
});

test("lines of thousands of words are not compared", () => {
  expect(compareWords("a ".repeat(500), "b ".repeat(500))).toBeNull();
});
