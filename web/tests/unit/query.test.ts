import { expect, test } from "vitest";

import {
  askedOf,
  beginningNames,
  liftFinished,
  makeToken,
  openFilter,
  placeOf,
  readField,
  readToken,
  splitQuery,
  toggleToken,
  withoutLastWord,
  writeField,
} from "@/state/query";

const raws = (query: string) => readField(query).tokens.map((token) => token.raw);

test("filters of an address are tokens, the rest is text", () => {
  const state = readField('zip project:tea file -is:error "a b"');
  expect(state.tokens.map((token) => token.raw)).toEqual(["project:tea", "-is:error"]);
  expect(state.text).toBe('zip file "a b"');
  expect(writeField(state)).toBe('project:tea -is:error zip file "a b"');
});

test("what would change its meaning stays where it is", () => {
  expect(raws("tool:Bash OR is:error")).toEqual([]);
  expect(raws("(tool:Bash x) y")).toEqual([]);
  expect(raws('"tool:Bash"')).toEqual([]);
  expect(raws("http://tool:80 std::vector key:value")).toEqual([]);
});

test("a value with blanks is one token, without its quotes", () => {
  expect(readToken('branch:"a b\\"c"')).toMatchObject({ name: "branch", value: 'a b"c', negated: false });
  expect(makeToken("branch", 'a b"c').raw).toBe('branch:"a b\\"c"');
  expect(readToken(makeToken("file", "x, y", true).raw)).toMatchObject({ value: "x, y", negated: true });
  expect(readToken('branch:"a b')).toBeNull();
});

test("while one types, a filter is a token as soon as a blank is behind it", () => {
  const typing = { tokens: [], text: "zip tool:Ba" };
  expect(liftFinished(typing)).toBe(typing);
  expect(liftFinished({ tokens: [], text: "zip tool:Bash " })).toMatchObject({
    text: "zip ",
    tokens: [{ raw: "tool:Bash" }],
  });
  const [token] = readField("tool:Bash").tokens;
  if (!token) throw new Error("no token");
  expect(liftFinished({ tokens: [token], text: "tool:Bash " }).tokens).toHaveLength(1);
});

test("a blank at the end of the text stays: the word before it is finished", () => {
  expect(readField("zip ").text).toBe("zip ");
  expect(writeField({ tokens: [], text: "zip " })).toBe("zip ");
});

test("parts keep quotes and groups together", () => {
  expect(splitQuery('a "b c" -(d e) print(x)').map(({ raw }) => raw)).toEqual([
    "a",
    '"b c"',
    "-(d e)",
    "print(x)",
  ]);
  expect(splitQuery('a "b c').map(({ raw }) => raw)).toEqual(["a", '"b c']);
});

test("what is being written is known, to complete it", () => {
  expect(openFilter("zip tool:Ba")).toEqual({ name: "tool", begun: "Ba", negated: false });
  expect(openFilter("-branch:")).toEqual({ name: "branch", begun: "", negated: true });
  expect(openFilter("tool:Bash ")).toBeNull();
  expect(openFilter("nope:x")).toBeNull();
  expect(beginningNames("zip pro")).toEqual(["project"]);
  expect(beginningNames("zip ")).toEqual([]);
  expect(withoutLastWord("zip tool:Ba")).toBe("zip ");
});

test("a filter that is still being written is not asked for", () => {
  expect(askedOf({ tokens: [], text: "zip tool:" })).toBe("zip");
  expect(askedOf({ tokens: [makeToken("is", "error")], text: "kind:pro" })).toBe("is:error");
  expect(askedOf({ tokens: [], text: "zip tool" })).toBe("zip tool");
});

test("a place in the query is one in a token or in the text", () => {
  const state = readField('is:broken zip "x');
  expect(writeField(state)).toBe('is:broken zip "x');
  expect(placeOf(state, 3)).toEqual({ token: 0, offset: 3 });
  expect(placeOf(state, 14)).toEqual({ token: null, offset: 4 });
});

test("a token is toggled", () => {
  const state = readField("zip");
  const token = makeToken("is", "error");
  const on = toggleToken(state, token);
  expect(writeField(on)).toBe("is:error zip");
  expect(writeField(toggleToken(on, token))).toBe("zip");
});
