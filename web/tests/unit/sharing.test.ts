import { describe, expect, test } from "vitest";

import type { Access, ShareLink } from "@/api/sharing";
import {
  askerOf,
  choiceOf,
  describeAccess,
  describeLink,
  describeRule,
  linkWords,
  machineName,
  mayMark,
  sortLinks,
  stateOf,
} from "@/state/sharing";

const ACCESS: Access = {
  key: "k",
  person: "ben",
  machine: "m",
  host: "vm",
  chosen: null,
  rule: null,
  visibility: "private",
  may_change: true,
  links: [],
};
const NOW = Date.parse("2026-11-16T12:00:00Z");
const LINK: ShareLink = {
  id: "a",
  session: "k",
  title: "A session",
  created_by: "ben",
  created_at: "2026-11-15T12:00:00Z",
  expires_at: "2026-11-20T12:00:00Z",
  revoked_at: null,
  words: [],
  opened: 0,
  opened_at: null,
};

describe("who sees a session", () => {
  test("is said with the reason", () => {
    expect(describeAccess(ACCESS, "ben")).toBe("Only you and admins see it: no rule matches its project.");
    expect(describeAccess({ ...ACCESS, rule: "*/site", visibility: "team" }, "ada")).toBe(
      "The whole team sees it, by the rule */site.",
    );
    expect(describeAccess({ ...ACCESS, chosen: "private", rule: "*/site" }, "ada")).toBe(
      "Only ben and admins see it: ben’s choice.",
    );
    expect(describeAccess({ ...ACCESS, person: null, chosen: "team", visibility: "team" }, "ada")).toBe(
      "The whole team sees it: this was chosen for it.",
    );
    expect(describeAccess({ ...ACCESS, person: null }, "ada")).toBe(
      "Only admins see it: no rule matches its project.",
    );
  });
  test("is left to the rules until somebody says so", () => {
    expect(choiceOf(ACCESS)).toBe("rules");
    expect(choiceOf({ chosen: "team" })).toBe("team");
    expect(describeRule(ACCESS)).toBe("No rule matches its project: it is private.");
    expect(describeRule({ ...ACCESS, rule: "/srv/*", visibility: "team" })).toBe(
      "The rule /srv/* decides: the team sees it.",
    );
    // What a rule says that does not decide is not known.
    expect(describeRule({ ...ACCESS, rule: "/srv/*", chosen: "private" })).toBe("The rule /srv/* decides.");
  });
  test("one marks one's own, admins all, and viewers nothing", () => {
    const ben = { name: "ben", is_admin: false, may_write: true };
    expect(mayMark(null, { person: null })).toBe(true);
    expect(mayMark(ben, { person: "ben" })).toBe(true);
    expect(mayMark(ben, { person: "ada" })).toBe(false);
    expect(mayMark(ben, { person: null })).toBe(false);
    expect(mayMark({ ...ben, may_write: false }, { person: "ben" })).toBe(false);
    expect(mayMark({ name: "ada", is_admin: true, may_write: true }, { person: "ben" })).toBe(true);
  });
  test("who asked is you only in your own", () => {
    expect(askerOf(null, "ben")).toBe("You");
    expect(askerOf({ name: "ben" }, "ben")).toBe("You");
    expect(askerOf({ name: "ada" }, "ben")).toBe("ben");
  });
});

describe("links", () => {
  test("are good until they expire or are ended", () => {
    expect(stateOf(LINK, NOW)).toBe("open");
    expect(stateOf({ ...LINK, expires_at: "2026-11-16T12:00:00Z" }, NOW)).toBe("expired");
    expect(stateOf({ ...LINK, revoked_at: "2026-11-16T11:00:00Z" }, NOW)).toBe("revoked");
  });
  test("stand with those that are good first, the newest first", () => {
    const links = [
      { ...LINK, id: "old" },
      { ...LINK, id: "ended", created_at: "2026-11-16T11:00:00Z", revoked_at: "2026-11-16T11:30:00Z" },
      { ...LINK, id: "new", created_at: "2026-11-16T10:00:00Z" },
    ];
    expect(sortLinks(links, NOW).map(({ id }) => id)).toEqual(["new", "old", "ended"]);
  });
  test("say by whom, until when, and how often they were opened", () => {
    expect(describeLink(LINK, NOW)).toMatch(/^by ben, until 20 Nov.*, never opened$/);
    expect(describeLink({ ...LINK, created_by: null, opened: 2 }, NOW)).toMatch(
      /^until 20 Nov.*, opened 2 times$/,
    );
    expect(describeLink({ ...LINK, revoked_at: "2026-11-16T11:00:00Z" }, NOW)).toContain("revoked 16 Nov");
  });
  test("leave out words, but no single letters", () => {
    expect(linkWords("Marlowe, x, the lamp ,Marlowe,")).toEqual(["Marlowe", "the lamp"]);
  });
});

test("machines go by their names, and by whose account it is where names are the same", () => {
  const machines = [
    { origin: "aaaaaaaabbbb", host: "vm", user: "ada" },
    { origin: "c", host: "vm", user: "ben" },
    { origin: "d", host: "desk", user: "ben" },
  ];
  expect(machineName("d", machines)).toBe("desk");
  expect(machineName("c", machines)).toBe("ben@vm");
  expect(machineName("aaaaaaaabbbb", undefined)).toBe("aaaaaaaa");
});
