import { describe, expect, test } from "vitest";

import {
  formatBytes,
  formatCounted,
  formatDate,
  formatDuration,
  formatMoney,
  formatSpan,
  formatTokens,
} from "@/lib/format";

test.each([
  [0, "0.0 s"],
  [40, "0.1 s"],
  [120, "0.1 s"],
  [3400, "3.4 s"],
  [9949, "9.9 s"],
  [9951, "10 s"],
  [12_000, "12 s"],
  [59_600, "1 m 00 s"],
  [129_000, "2 m 09 s"],
  [599_700, "10 m"],
  [2_040_000, "34 m"],
  [6_840_000, "1 h 54 m"],
  [7_500_000, "2 h 05 m"],
  [86_400_000 * 3 + 3_600_000 * 4, "3 d 4 h"],
  [null, "–"],
  [-5, "–"],
])("a duration of %s ms is %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [40_000, "40 s"],
  [180_000, "3 m"],
  [3_599_000, "1 h 00 m"],
  [86_399_000, "1 d 0 h"],
])("in lists, %s ms is %s", (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});

test.each([
  [950, "950"],
  [1000, "1.0 k"],
  [38_200, "38.2 k"],
  [134_000, "134 k"],
  [999_949, "1.0 M"],
  [2_940_000, "2.9 M"],
  [7_100_000_000, "7.1 G"],
])("%s tokens are %s", (tokens, text) => {
  expect(formatTokens(tokens)).toBe(text);
});

describe("money", () => {
  test("has two digits and groups", () => {
    expect(formatMoney(6.41)).toBe("$6.41");
    expect(formatMoney(1234.5)).toBe("$1,234.50");
    expect(formatMoney(0)).toBe("$0.00");
  });
  test("below a cent is not nothing", () => {
    expect(formatMoney(0.004)).toBe("<$0.01");
  });
  test("without a price is not guessed", () => {
    expect(formatMoney(null)).toBe("–");
  });
});

test("counts fit their word", () => {
  expect(formatCounted(1, "call")).toBe("1 call");
  expect(formatCounted(1204, "call")).toBe("1,204 calls");
});

test("a date of another year says so", () => {
  const now = new Date(2025, 10, 29);
  expect(formatDate(new Date(2025, 2, 3).toISOString(), now)).toBe("3 Mar");
  expect(formatDate(new Date(2024, 2, 3).toISOString(), now)).toBe("3 Mar 2024");
});

test("sizes have units", () => {
  expect(formatBytes(900)).toBe("900 B");
  expect(formatBytes(64_200)).toBe("64 kB");
  expect(formatBytes(2_500_000)).toBe("2.5 MB");
});
