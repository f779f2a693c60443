import { expect, test } from "vitest";

import { plainTitle } from "@/lib/plain";

test.each([
  ["## The **tide** in `harbour.py`", "The tide in harbour.py"],
  ["- one thing", "one thing"],
  ["3. a step", "a step"],
  ["> quoted", "quoted"],
  ["see [the docs](https://example.com/x)", "see the docs"],
  ["``a `tick` b``", "a `tick` b"],
  ["rename __init__ and snake_case", "rename __init__ and snake_case"],
  ["look at **/*.py and **/*.ts", "look at **/*.py and **/*.ts"],
  ["2 * 3 ** 4", "2 * 3 ** 4"],
  ["#hashtag stays", "#hashtag stays"],
  ["plain", "plain"],
])("%s reads as %s", (text, shown) => {
  expect(plainTitle(text)).toBe(shown);
});
