import { expect, test } from "vitest";

import { parseMarkdown } from "@/lib/markdown";
import { guessProse, PIECE, splitMarkdown } from "@/lib/pieces";

const PARAGRAPH = "The tide comes in and goes out again. ".repeat(20).trim();

/** What a text means: the nodes at its top, without where they stand. */
function meaning(texts: readonly string[]): unknown {
  const plain = (key: string, value: unknown) => (key === "position" ? undefined : value);
  return JSON.parse(
    JSON.stringify(
      texts.flatMap((text) => parseMarkdown(text).children),
      plain,
    ),
  );
}

/** A text in which a part stands somewhere about where the first piece may end. */
function before(part: string, away: number): string {
  return `${"word ".repeat(PIECE / 5).slice(away)}\n\n${part}\n\nand so on`;
}

test("a short text stays whole", () => {
  expect(splitMarkdown("# a\n\nb")).toEqual(["# a\n\nb"]);
});

test("a long text comes in pieces, and nothing of it is lost", () => {
  const text = Array.from({ length: 30 }, (_, n) => `## ${n}\n\n${PARAGRAPH}`).join("\n\n");
  const pieces = splitMarkdown(text);
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.join("")).toBe(text);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(2 * PIECE);
});

test.each([
  ["code with blank lines", "```python\na = 1\n\nb = 2\n\n# no heading\n```"],
  ["a fence within a longer one", "````md\n```\n\nstill code\n\n```\n````"],
  ["code between tildes", "~~~\na\n\n```\n\nb\n~~~"],
  ["a fence that is never closed", "```\na\n\nb\n\nc"],
  ["a list with space between its entries", "- one\n\n- two\n\n  more of two\n\n- three"],
  ["a numbered list", "1. one\n\n   ```\n   code\n\n   more\n   ```\n\n2. two"],
  ["a quotation and a table", "> a\n\n> b\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"],
  ["a comment with blank lines", "<!--\n\n**not bold**\n\n-->"],
  [
    "names that are told at the end",
    "see [the docs][1] and a note[^n]\n\n[1]: https://example.com\n\n[^n]: a note",
  ],
  ["code by indentation", "    a\n\n    b\n\nno code"],
])("the pieces mean what the whole means: %s", (_, part) => {
  for (let away = 0; away < part.length + 6; away += 5) {
    const text = before(part, away);
    expect(meaning(splitMarkdown(text))).toEqual(meaning([text]));
  }
});

test("a very long list is cut between its entries", () => {
  const text = Array.from({ length: 400 }, (_, n) => `${n + 1}. entry number ${n} of a list without end`).join(
    "\n",
  );
  const pieces = splitMarkdown(text);
  expect(pieces.length).toBeGreaterThan(1);
  expect(parseMarkdown(pieces[1] ?? "").children[0]).toMatchObject({ type: "list", ordered: true });
});

test("a taller text is guessed to be taller", () => {
  expect(guessProse("one line")).toBe(24);
  expect(guessProse(PARAGRAPH.repeat(20))).toBeGreaterThan(20 * guessProse("one line"));
});
