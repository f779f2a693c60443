import { expect, test } from "vitest";

import { describeDay } from "@/lib/days";
import { buildListRows, groupOf, toggled, withChosen } from "@/state/session-rows";

import { buildSession } from "../fixture/builders";

const NOW = new Date(2025, 10, 29, 17, 30);
const at = (day: number, hour: number) => new Date(2025, 10, day, hour).toISOString();
const session = (key: string, last_at: string | null, cost_usd: number | null = 1) =>
  buildSession({ key, last_at, cost_usd, messages: 5 });

test("days are named as people name them", () => {
  expect(describeDay(at(29, 1), NOW)).toMatchObject({ name: "Today", detail: "Saturday 29 November" });
  expect(describeDay(at(28, 23), NOW)).toMatchObject({ name: "Yesterday", detail: "Friday 28 November" });
  expect(describeDay(at(27, 3), NOW)).toMatchObject({ name: "Thursday", detail: "27 November" });
  expect(describeDay(at(20, 3), NOW)).toMatchObject({ name: "20 November", detail: "Thursday" });
  expect(describeDay(new Date(2024, 2, 12).toISOString(), NOW)).toMatchObject({ name: "12 March 2024" });
  expect(describeDay(null, NOW).key).toBe("");
});

test("sessions stand under their day, which sums them up", () => {
  const rows = buildListRows(
    [session("a", at(29, 9)), session("b", at(29, 8), null), session("c", at(28, 8))],
    {
      sort: "newest",
      now: NOW,
      complete: true,
    },
  );
  expect(rows.map((row) => row.key)).toEqual(["day-2025-11-29", "a", "b", "day-2025-11-28", "c"]);
  expect(rows[0]).toMatchObject({ sums: { sessions: 2, messages: 10, cost: 1 } });
});

test("a day that may go on is not summed up", () => {
  const rows = buildListRows([session("a", at(29, 9)), session("b", at(28, 8))], {
    sort: "newest",
    now: NOW,
    complete: false,
  });
  expect(rows.flatMap((row) => (row.kind === "day" ? [row.sums?.sessions ?? null] : []))).toEqual([1, null]);
});

test("a day of sessions without prices costs nothing that could be told", () => {
  const [day] = buildListRows([session("a", at(29, 9), null)], { sort: "newest", now: NOW, complete: true });
  expect(day).toMatchObject({ sums: { cost: null } });
});

test("in another order there are no days", () => {
  const rows = buildListRows([session("a", at(29, 9)), session("b", at(28, 9))], {
    sort: "cost",
    now: NOW,
    complete: true,
  });
  expect(rows.map((row) => row.kind)).toEqual(["session", "session"]);
});

const run = (key: string, day: number, alike = 1) =>
  buildSession({ key, last_at: at(day, 4), series: "nightly", alike });

test("days are not summed up from the first group on, whose others may be of any of them", () => {
  const rows = buildListRows([session("a", at(29, 9)), run("r3", 28, 3), session("b", at(27, 8))], {
    sort: "newest",
    now: NOW,
    complete: true,
  });
  const sums = rows.flatMap((row) => (row.kind === "day" ? [row.sums?.sessions ?? null] : []));
  expect(sums).toEqual([1, null, null]);
});

test("an opened group stands under its first session, which is not repeated", () => {
  const first = run("r3", 28, 3);
  const build = (sessions: readonly ReturnType<typeof run>[], total: number | null, failed = false) =>
    buildListRows([session("a", at(29, 9)), first], {
      sort: "cost",
      now: NOW,
      complete: true,
      opened: new Map([[groupOf(first) ?? "", { sessions, total, failed }]]),
    }).map((row) => (row.kind === "more" ? `more ${row.left} ${row.failed}` : row.key));
  expect(build([], null)).toEqual(["a", "r3", "more null false"]);
  expect(build([], null, true)).toEqual(["a", "r3", "more null true"]);
  expect(build([run("r3", 28), run("r2", 27)], 3)).toEqual(["a", "r3", "r2", "more 1 false"]);
  expect(build([run("r3", 28), run("r2", 27), run("r1", 26)], 3)).toEqual(["a", "r3", "r2", "r1"]);
  expect(groupOf(run("r1", 26))).toBeNull();
});

test("what is chosen is among the values, also where nothing has it", () => {
  const values = [{ name: "x", sessions: 2 }];
  expect(withChosen(values, "x")).toBe(values);
  expect(withChosen(values, "z")).toEqual([...values, { name: "z", sessions: 0 }]);
});

test("something is put into a set, and taken out of it", () => {
  const one = toggled(new Set<string>(), "a");
  expect([...one]).toEqual(["a"]);
  expect([...toggled(one, "a")]).toEqual([]);
});
