import { expect, test } from "vitest";

import { baseName, modelName, toolName } from "@/lib/names";

test.each([
  ["claude-opus-4-5-20251101", "opus 4.5"],
  ["claude-sonnet-4-20250514", "sonnet 4"],
  ["claude-opus-5", "opus 5"],
  ["claude-3-5-sonnet-20241022", "sonnet 3.5"],
  ["claude-3-haiku-20240307", "haiku 3"],
  ["claude-sonnet-4-5-20250929[1m]", "sonnet 4.5"],
  ["gpt-9", "gpt-9"],
])("%s is %s", (model, name) => {
  expect(modelName(model)).toBe(name);
});

test("an MCP tool goes by its own name, with its server", () => {
  expect(toolName("mcp__context7__get-library-docs")).toEqual({ name: "get-library-docs", server: "context7" });
  expect(toolName("mcp__odd")).toEqual({ name: "mcp__odd", server: null });
  expect(toolName("Bash")).toEqual({ name: "Bash", server: null });
});

test("the last part of a path, of either kind", () => {
  expect(baseName("/home/ada/harbour/")).toBe("harbour");
  expect(baseName("C:\\work\\harbour")).toBe("harbour");
  expect(baseName("/")).toBe("/");
});
