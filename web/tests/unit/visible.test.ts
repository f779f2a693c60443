import { expect, test } from "vitest";

import { showControls, stripTerminal } from "@/lib/visible";

test("terminal escapes are taken out", () => {
  expect(stripTerminal("\u001b[1;31mred\u001b[0m")).toBe("red");
  expect(stripTerminal("\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007")).toBe("link");
  expect(stripTerminal("\u001b]0;title\u001b\\text")).toBe("text");
});

test("of a line that was written over, the last state stays", () => {
  expect(stripTerminal("10 %\r50 %\r100 %\nnext\r\n")).toBe("100 %\nnext\n");
});

test("controls and direction marks are shown, line breaks and tabs stay", () => {
  expect(showControls("a\u0000b\u001bc\u007f")).toBe("a␀b␛c␡");
  expect(showControls("x\u202ey\u2066z")).toBe("x⟨U+202E⟩y⟨U+2066⟩z");
  expect(showControls("a\n\tb")).toBe("a\n\tb");
});
