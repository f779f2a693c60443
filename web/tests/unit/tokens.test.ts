import { expect, test } from "vitest";

import { isGood } from "@/api/people";
import { failureOf } from "@/features/login/failures";
import { machineName, misnamed } from "@/lib/people";
import { auditPath, parseAudit, parseNext, parsePeople, peoplePath } from "@/lib/people-routes";
import { misfit, pushSteps, warnOfAddress } from "@/lib/tokens";

const SECRET = "x".repeat(43);

test("what a token is not good for is told before anybody is asked", () => {
  expect(misfit(`tlp_${SECRET}`)).toBeNull();
  expect(misfit(`  tlp_${SECRET}\n`)).toBeNull();
  expect(misfit("the-server's-own")).toBeNull();
  expect(misfit(" ")).toContain("Paste");
  expect(misfit(`tlm_${SECRET}`)).toContain("machine token");
  expect(misfit(`tls_${SECRET}`)).toContain("link");
  expect(misfit(`tlp_${SECRET.slice(1)}`)).toContain("has 47 characters, and this has 46");
  expect(misfit(`token: tlp_${SECRET}`)).toContain("no spaces");
});

test("what to type on a machine: encrypted, a service does it; in the clear it has to be said", () => {
  const commands = (server: string) => pushSteps(server, "tlm_s").map(({ command }) => command);
  expect(commands("https://log.example.org")).toEqual([
    "(umask 077; echo 'tlm_s' > ~/.turnlog-token)",
    "turnlog push --to https://log.example.org --token-file ~/.turnlog-token --once",
    "turnlog service install --push https://log.example.org --token-file ~/.turnlog-token",
  ]);
  expect(commands("http://log.example.org:8484")[2]).toBe(
    "turnlog push --to http://log.example.org:8484 --token-file ~/.turnlog-token --insecure",
  );
  expect(commands("http://127.0.0.1:8484")[1]).not.toContain("--insecure");
});

test("an address that leads elsewhere, or that others listen to, is warned of", () => {
  expect(warnOfAddress("https://log.example.org")).toBeNull();
  expect(warnOfAddress("http://log.example.org")).toContain("not encrypted");
  for (const own of ["http://localhost:8484", "http://127.0.0.1:8484", "http://[::1]:8484"])
    expect(warnOfAddress(own)).toContain("its own machine");
});

test("names are what the server takes", () => {
  for (const name of ["ada", "a.b-c_9"]) expect(misnamed(name)).toBeNull();
  for (const name of ["", "Ada", "9a", "a b", "ä", "a".repeat(65)]) expect(misnamed(name)).not.toBeNull();
});

test("a machine goes by its host, or the beginning of its id", () => {
  expect(machineName({ origin: "0123456789abcdef", host: "laptop", user: "ben" })).toBe("laptop (ben)");
  expect(machineName({ origin: "0123456789abcdef", host: "", user: "" })).toBe("01234567");
});

test("what is revoked or over is not good", () => {
  const now = Date.parse("2026-11-16T12:00:00Z");
  expect(isGood({ revoked_at: null, expires_at: null }, now)).toBe(true);
  expect(isGood({ revoked_at: null, expires_at: "2026-11-17T00:00:00Z" }, now)).toBe(true);
  expect(isGood({ revoked_at: null, expires_at: "2026-11-16T11:00:00Z" }, now)).toBe(false);
  expect(isGood({ revoked_at: "2026-11-01T00:00:00Z", expires_at: null }, now)).toBe(false);
});

test("addresses are read as they are made", () => {
  expect(parsePeople(peoplePath({ person: "ben" }).slice(8))).toEqual({ person: "ben", adds: false });
  expect(parsePeople(peoplePath({ adds: true }).slice(8))).toEqual({ person: null, adds: true });
  expect(peoplePath()).toBe("/people");
  const state = { who: "ada", person: null, action: "viewed", session: "s 1" };
  expect(parseAudit(auditPath(state).slice(7))).toEqual(state);
  expect(auditPath()).toBe("/audit");
});

test("a login leads on to paths of ours alone", () => {
  const next = (path: string) => parseNext(`?next=${encodeURIComponent(path)}`);
  expect(next("/usage?range=7d")).toBe("/usage?range=7d");
  for (const path of [
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "javascript:run()",
    "/login",
    "",
  ])
    expect(next(path)).toBe("/");
  expect(parseNext("")).toBe("/");
});

test("what went wrong at a provider has a sentence, also if it is new", () => {
  expect(failureOf("")).toBeNull();
  expect(failureOf("?error=unknown")).toContain("no account for you here");
  expect(failureOf("?error=constructor")).toContain("did not work");
});
