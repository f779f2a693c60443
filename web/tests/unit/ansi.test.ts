import { expect, test } from "vitest";

import { styleLines } from "@/lib/ansi";

const ESC = "\u001b";
const shown = (text: string) =>
  styleLines(text).map((line) => line.map(({ text: own, style }) => [own, style]));

test("colours become the page's own, and last over lines until they are reset", () => {
  expect(shown(`${ESC}[31mred\nstill${ESC}[0m plain`)).toEqual([
    [["red", "ar"]],
    [
      ["still", "ar"],
      [" plain", ""],
    ],
  ]);
});

test("bright, 256 and true colours are reduced to the nearest", () => {
  expect(shown(`${ESC}[92ma${ESC}[38;5;196mb${ESC}[38;2;20;40;230mc${ESC}[38;5;240md${ESC}[38:5:51me`)).toEqual(
    [
      [
        ["a", "ag"],
        ["b", "ar"],
        ["c", "ab"],
        ["d", "ad"],
        ["e", "ac"],
      ],
    ],
  );
});

test("weights add up and are taken back one by one", () => {
  expect(shown(`${ESC}[1;32mok${ESC}[22m ok${ESC}[39;4m u`)).toEqual([
    [
      ["ok", "ag bo"],
      [" ok", "ag"],
      [" u", "ul"],
    ],
  ]);
});

test("links, titles, moves of the cursor and broken sequences leave nothing behind", () => {
  const text = `a${ESC}]8;;https://evil.example\u0007b${ESC}]8;;\u0007c${ESC}[2J${ESC}[10;10Hd${ESC}]0;title${ESC}\\e${ESC}(Bf${ESC}[`;
  expect(
    styleLines(text)
      .flat()
      .map((part) => part.text)
      .join("")
      .replace(ESC, ""),
  ).toBe("abcdef");
});

test("what a carriage return wrote over is gone, in the colour that still holds", () => {
  expect(shown(`${ESC}[32m10%\r100%\r\nnext`)).toEqual([[["100%", "ag"]], [["next", "ag"]]]);
  expect(shown("done\r")).toEqual([[["done", ""]]]);
});

test("parameters that make no sense do no harm", () => {
  expect(
    shown(`${ESC}[38;5m${ESC}[999mx${ESC}[38;2;1mz`)
      .flat()
      .map(([text]) => text),
  ).toEqual(["x", "z"]);
});
