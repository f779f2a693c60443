import { expect, test } from "vitest";

import { EVERYTHING, exportQuery, readTurn, wordsOf } from "@/lib/export-options";

const query = (change: object) => exportQuery(["a"], { ...EVERYTHING, ...change }).toString();

test("what goes without saying is not said", () => {
  expect(query({})).toBe("id=a&format=html");
  expect(exportQuery(["a", "b"], EVERYTHING).getAll("id")).toEqual(["a", "b"]);
});

test("what is left out, and which part, is said", () => {
  expect(query({ thinking: false, last_turn: 3, branch: 0 })).toBe(
    "id=a&format=html&thinking=false&last_turn=3&branch=0",
  );
});

test("lines come as they are, whatever was chosen for other forms", () => {
  expect(query({ format: "jsonl", thinking: false })).toBe("id=a&format=jsonl");
});

test("words count only where something is taken out", () => {
  expect(query({ words: "x, y" })).toBe("id=a&format=html&word=x&word=y");
  expect(query({ words: "x", redact: false })).toBe("id=a&format=html&redact=false");
});

test("words are told apart by commas, each once", () => {
  expect(wordsOf(" Project Falcon ,, acme,acme ")).toEqual(["Project Falcon", "acme"]);
});

test.each([
  ["3", 3],
  ["", null],
  ["0", null],
  ["-2", null],
  ["x", null],
])("turn %s is %s", (typed, turn) => {
  expect(readTurn(typed)).toBe(turn);
});
