import type { Nodes } from "mdast";
import { expect, test } from "vitest";

import { LONGEST_PARSED, parseMarkdown } from "@/lib/markdown";

function depth(node: Nodes): number {
  return "children" in node ? 1 + Math.max(0, ...node.children.map(depth)) : 0;
}

test("HTML is a node of text, not of elements", () => {
  expect(parseMarkdown("<b>x</b>").children[0]).toMatchObject({
    children: [{ type: "html", value: "<b>" }, { value: "x" }, { type: "html", value: "</b>" }],
  });
});

test("what is nested without end becomes text, and nothing of it is lost", () => {
  const root = parseMarkdown(`${"> ".repeat(500)}deep`);
  expect(depth(root)).toBeLessThan(30);
  expect(JSON.stringify(root)).toContain("deep");
});

test("a text too long to be parsed is shown as it is", () => {
  const text = "*a*".repeat(LONGEST_PARSED);
  expect(parseMarkdown(text).children).toEqual([{ type: "code", value: text }]);
});

test("a text is parsed once", () => {
  expect(parseMarkdown("# once")).toBe(parseMarkdown("# once"));
});
