import { expect, test } from "vitest";

import {
  baseOf,
  filterQuery,
  findQueryOf,
  hitPath,
  missionControlPath,
  NO_FILTER,
  parseBoard,
  parseFilter,
  parseFind,
  parsePlace,
  parseSearch,
  parseUsage,
  searchPath,
  sessionPath,
  sessionsPath,
  usagePath,
} from "@/lib/routes";

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

test("a hit leads to its message, in its file, with its call", () => {
  const hit = { session: "k", session_id: "id", source: "k", message_uuid: "u", call: null };
  expect(hitPath(hit)).toBe("/sessions/k/messages/u");
  const inside = hitPath({ ...hit, source: "agent/1", call: 3 });
  expect(inside).toBe("/sessions/k/messages/u?source=agent%2F1&call=3");
  expect(parsePlace(inside.slice(inside.indexOf("?")))).toEqual({ source: "agent/1", call: 3 });
  expect(parsePlace("?call=x")).toEqual({ source: null, call: null });
  expect(hitPath({ ...hit, session: null, message_uuid: null })).toBe("/sessions/id");
});

test("a search comes back from its address", () => {
  const state = { text: 'a "b c" tool:Bash ', order: "relevance", hit: 7 } as const;
  expect(parseSearch(searchPath(state).split("?")[1] ?? "")).toEqual(state);
  expect(searchPath({ text: "", order: "newest" })).toBe("/search");
  expect(parseSearch("q=a&order=x&hit=-1")).toEqual({ text: "a", order: "newest", hit: 0 });
});

test("usage comes back from its address, and nonsense is the usual", () => {
  const state = {
    ...parseUsage(""),
    range: "year",
    measure: "tokens",
    zone: "Asia/Tokyo",
    by: "session",
  } as const;
  expect(parseUsage(usagePath(state).split("?")[1] ?? "")).toEqual(state);
  expect(usagePath(parseUsage("range=__proto__&by=constructor&since=2026-02-99"))).toBe("/usage");
  expect(parseUsage("since=2026-02-01").since).toBe("2026-02-01");
});

test("what is looked for stands in the address beside what else does", () => {
  expect(parseFind("?at=end")).toBeNull();
  expect(parseFind(findQueryOf("?at=end", "a & b"))).toBe("a & b");
  expect(findQueryOf("?at=end", "")).toBe("?at=end&find=");
  expect(findQueryOf("?find=x", null)).toBe("");
});

test("whose, from where and for whom come back from an address; nobody is somebody, too", () => {
  const filter = { ...NO_FILTER, person: "", machine: "m/1", visibility: "team" } as const;
  expect(parseFilter(filterQuery(filter).toString())).toEqual(filter);
  expect(parseFilter("visibility=all").visibility).toBeNull();
});

test("mission control keeps by what, whose and where", () => {
  const state = { by: "person", person: "ben", machine: "m&1" } as const;
  const path = missionControlPath(state);
  expect(parseBoard(path.slice(path.indexOf("?")))).toEqual(state);
  expect(missionControlPath()).toBe("/mission-control");
  expect(parseBoard("?by=constructor").by).toBe("state");
});

test("a link's address stands before all others on its page", () => {
  expect(baseOf("/s/tls_abc/sessions/k")).toBe("/s/tls_abc");
  expect(baseOf("/s/tls_abc")).toBe("/s/tls_abc");
  expect(baseOf("/sessions/s/x")).toBe("");
  expect(baseOf("/s/")).toBe("");
});
