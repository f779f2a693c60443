import { expect, test } from "vitest";

import type { AuditEntry } from "@/api/audit";
import { ACTIONS, byDay, detailOf, sentenceOf, textOf } from "@/state/audit";

const ENTRY: AuditEntry = {
  id: 1,
  at: "2026-11-16T10:00:00Z",
  who: "ada",
  action: "viewed",
  link: null,
  session: "s-1",
  person: "ben",
  detail: "",
};
const say = (part: Partial<AuditEntry>) => textOf(sentenceOf({ ...ENTRY, ...part }));

test("a look says who, at whose session", () => {
  expect(say({})).toBe("ada viewed a session of ben");
  expect(sentenceOf(ENTRY)).toContainEqual({ session: "s-1" });
  expect(say({ action: "exported", person: null })).toBe("ada exported a session");
});

test("whoever has no name is the operator, or a stranger with a link", () => {
  expect(say({ who: null, action: "user-added", session: null })).toBe("The operator added ben");
  expect(say({ who: null, action: "link-opened", link: "l1" })).toBe(
    "A stranger opened a link to a session of ben",
  );
});

test("deeds on one’s own account and sessions name nobody twice", () => {
  expect(say({ who: "ben", action: "token-created", session: null })).toBe("ben created a token");
  expect(say({ who: "ben", action: "visibility-changed" })).toBe("ben changed who sees a session");
  expect(say({ action: "token-created", session: null })).toBe("ada created a token for ben");
});

test("sessions that are not named one by one", () => {
  expect(say({ action: "visibility-changed", session: null })).toBe("ada changed who sees sessions of ben");
});

test("what was chosen is told in words, and all else as it stands", () => {
  expect(detailOf({ ...ENTRY, action: "visibility-changed", detail: "team" })).toBe("now shared with the team");
  expect(detailOf({ ...ENTRY, action: "machine-assigned", detail: "from ada to ben" })).toBe("from ada to ben");
});

test("every action has a sentence of its own", () => {
  const actions = Object.keys(ACTIONS);
  expect(new Set(actions.map((action) => say({ action }))).size).toBe(actions.length);
});

test("entries stand by day, in their order", () => {
  const now = new Date("2026-11-16T12:00:00Z");
  const at = (id: number, time: string) => ({ ...ENTRY, id, at: time });
  const days = byDay(
    [at(3, "2026-11-16T11:00:00Z"), at(2, "2026-11-16T10:00:00Z"), at(1, "2026-11-14T10:00:00Z")],
    now,
  );
  expect(days.map(({ day, entries }) => [day, entries.map(({ id }) => id)])).toEqual([
    ["Today", [3, 2]],
    ["14 Nov", [1]],
  ]);
  expect(byDay([])).toEqual([]);
});
