import { expect, test } from "vitest";

import { filterQuery, NO_FILTER, parseFilter, sessionPath, sessionsPath } from "@/lib/routes";

test("a filter comes back from its address", () => {
  const filter = { ...NO_FILTER, project: "/home/ada/a b", tag: "x&y", starred: true, sort: "cost" } as const;
  expect(parseFilter(filterQuery(filter).toString())).toEqual(filter);
});

test("what is not set is not in the address", () => {
  expect(sessionsPath()).toBe("/sessions");
  expect(sessionsPath({ ...NO_FILTER, text: "" })).toBe("/sessions");
});

test("an order that does not exist is the usual one", () => {
  expect(parseFilter("sort=__proto__").sort).toBe("newest");
});

test("parts of addresses are escaped", () => {
  expect(sessionPath("a/b", "c?d")).toBe("/sessions/a%2Fb/messages/c%3Fd");
});
