import { expect, test } from "vitest";

import type { UsageRow } from "@/api/types";
import { writeCsv } from "@/lib/csv";
import { formatExact, parseMoney } from "@/lib/decimal";
import { dayIn, daysBetween, formatHour, monthsBetween, shiftDay, weekdayOf } from "@/lib/zones";
import { axisSteps, buildDayPlot, buildHeat, buildMatrix, familyOf, listDoubts } from "@/state/usage";

import { buildUsage } from "../fixture/usage";

const NOW = new Date("2026-03-31T22:30:00Z");
const report = (query: string) => buildUsage(new URLSearchParams(query), NOW);

test("money is exact to the last digit, and rounded only for the eye", () => {
  expect(parseMoney("0.1") + parseMoney("0.2")).toBe(parseMoney("0.3"));
  expect(formatExact(parseMoney("436.195"))).toBe("$436.20");
  expect(formatExact(parseMoney("1234567.005"))).toBe("$1,234,567.01");
  expect(formatExact(parseMoney("0.000001"))).toBe("<$0.01");
  expect(formatExact(parseMoney("-3.1"))).toBe("−$3.10");
  expect(formatExact(parseMoney("2809.6"), true)).toBe("$2,810");
  expect(formatExact(0n)).toBe("$0.00");
});

test("a bar is the sum of its parts, whatever is drawn apart", () => {
  const days = report("by=daily&breakdown=model");
  const names = daysBetween("2026-03-01", "2026-03-31");
  const plot = buildDayPlot(days, "cost", names);
  expect(plot.days).toHaveLength(31);
  expect(plot.families[0]).toBe("opus");
  for (const bar of plot.days) {
    const row = days.rows.find(({ name }) => name === bar.day);
    expect(bar.total).toBe(parseMoney(row?.cost_usd ?? "0"));
    expect(bar.parts.reduce((sum, part) => sum + part, 0n)).toBe(bar.total);
  }
});

test("a year is whole weeks from a Monday to today, and quarters have a shade each", () => {
  const heat = buildHeat(report("by=daily"), "cost", "2026-03-31");
  expect(heat[0]?.weekday).toBe(0);
  expect(weekdayOf(heat[0]?.day ?? "")).toBe(0);
  expect(heat.at(-1)).toMatchObject({ day: "2026-03-31", weekday: 1 });
  expect(new Set(heat.map((day) => day.level))).toEqual(new Set([0, 1, 2, 3, 4]));
});

test("what is uncertain is said, and only that", () => {
  const total: UsageRow = report("by=model").total;
  const clean = { ...total, incomplete: 0, unpriced: {}, estimated: {} };
  expect(listDoubts({ total: clean })).toEqual([]);
  expect(listDoubts({ total: { ...clean, incomplete: 1 } })).toEqual([
    "1 answer was recorded before its end, so output and cost are a floor.",
  ]);
  expect(
    listDoubts({ total: { ...clean, unpriced: { "glm-5": 12 }, estimated: { "speed=fast": 4 } } }),
  ).toEqual([
    "12 answers of glm-5 have no known price and are not in the cost.",
    "4 answers served under other terms (speed=fast) are priced at the standard rate.",
  ]);
});

test("models of one family are drawn together", () => {
  expect(["claude-opus-4-5-20251101", "claude-opus-4-1", "glm-5", null].map(familyOf)).toEqual([
    "opus",
    "opus",
    "glm-5",
    "no model",
  ]);
});

test("an axis has few, round steps up to the most", () => {
  expect(axisSteps(53)).toEqual([0, 20, 40, 60]);
  expect(axisSteps(0)).toEqual([0, 1]);
  expect(axisSteps(0.004).at(-1)).toBeGreaterThanOrEqual(0.004);
});

test("days are those of the zone, and are counted by the calendar", () => {
  expect(dayIn("Europe/Berlin", NOW)).toBe("2026-04-01");
  expect(dayIn("America/New_York", NOW)).toBe("2026-03-31");
  expect(shiftDay("2026-03-01", -1)).toBe("2026-02-28");
  expect(daysBetween("2026-03-28", "2026-03-30")).toHaveLength(3);
  expect(monthsBetween("2025-11-20", "2026-02-01")).toEqual(["2025-11", "2025-12", "2026-01", "2026-02"]);
  expect(formatHour("2026-03-31T13:00:00Z", "UTC", NOW)).toBe("today 13:00");
  expect(formatHour("2026-03-27T13:00:00Z", "UTC", NOW)).toBe("Fri 13:00");
});

test("CSV keeps digits, quotes what must be, and disarms formulas", () => {
  expect(
    writeCsv([
      ["a", 'say "x"', "1,2"],
      ["=cmd()", "-0.5", null, 3],
    ]),
  ).toBe('a,"say ""x""","1,2"\r\n\'=cmd(),-0.5,,3\r\n');
});

test("what is divided by persons is a table, the largest first, and the rest of them one part", () => {
  const [row] = report("by=project").rows;
  if (!row) throw new Error("nothing was used");
  const part = (name: string | null, cost_usd: string): UsageRow => ({ ...row, name, cost_usd });
  const rows = [
    { ...part("/a", "3"), breakdown: [part("ben", "1"), part("ada", "2")] },
    { ...part("/b", "9"), breakdown: [part("ada", "4"), part(null, "3"), part("eve", "2")] },
  ];
  const { parts, rows: built } = buildMatrix({ ...report("by=project"), rows }, "cost", 3);
  expect(parts).toEqual(["ada", null, "others"]);
  expect(built.map(({ name }) => name)).toEqual(["/b", "/a"]);
  expect(built.map(({ amounts }) => amounts.map((amount) => formatExact(amount)))).toEqual([
    ["$4.00", "$3.00", "$2.00"],
    ["$2.00", "$0.00", "$1.00"],
  ]);
});
