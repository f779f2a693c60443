import { describe, expect, test } from "vitest";

import type { BoardCard } from "@/api/board";
import { cardsOfToday, describeBoard, describeWhy, groupCards, listOwners, narrowCards } from "@/state/board";
import { buildLanes, laneTicks } from "@/state/lanes";
import { newWaits, waitKey } from "@/state/live/waits";

import { buildBoard, buildCard, buildCards } from "../fixture/board";
import { iso } from "../fixture/builders";

const NOW = new Date(2025, 10, 29, 15, 0, 0).getTime();
const MINUTE = 60_000;
const cards = buildCards(NOW);
const ids = (some: readonly BoardCard[]) => some.map((card) => card.session_id);

describe("the sentence", () => {
  const some = (needs: number, works: number, done: number) =>
    describeBoard([
      ...Array.from({ length: needs }, (_, n) => buildCard(NOW, { session_id: `n${n}`, column: "needs_you" })),
      ...Array.from({ length: works }, (_, n) => buildCard(NOW, { session_id: `w${n}` })),
      ...Array.from({ length: done }, (_, n) => buildCard(NOW, { session_id: `d${n}`, column: "done" })),
    ]);
  test.each([
    [2, 4, 5, "Two sessions need you.", "Four are working, five are done today."],
    [1, 1, 1, "One session needs you.", "One is working, one is done today."],
    [0, 3, 0, "Nothing needs you.", "Three are working."],
    [13, 0, 1, "13 sessions need you.", "One is done today."],
    [0, 0, 0, "Nothing needs you.", ""],
  ])("%i, %i, %i", (needs, works, done, first, rest) => {
    expect(some(needs, works, done)).toEqual({ first, rest });
  });
});

describe("columns", () => {
  test("the longest wait comes first, what works by when it began, what is done by when it ended", () => {
    const [needs, works, done] = groupCards(cards.toReversed(), "state");
    expect(ids(needs?.cards ?? [])).toEqual(["b-push", "b-ask"]);
    expect(ids(works?.cards ?? [])).toEqual(["b-test", "b-edit", "b-agents", "b-write"]);
    expect(ids(done?.cards ?? [])).toEqual([0, 1, 2, 3, 4].map((n) => `b-done-${n}`));
  });

  test("projects with somebody who waits come first", () => {
    const groups = groupCards(cards, "project");
    expect(groups.map((group) => group.name).slice(0, 3)).toEqual(["harbour", "tide-gauge", "lamp-keeper"]);
    expect(ids(groups[1]?.cards ?? [])).toEqual(["b-ask", "b-test", "b-done-2"]);
  });

  test("what ended yesterday is not on the board, what works since yesterday is", () => {
    const old = iso(NOW - 30 * 60 * MINUTE);
    const board = buildBoard(NOW, [
      buildCard(NOW, { session_id: "old", column: "done", last_at: old, since: old }),
      buildCard(NOW, { session_id: "long", started_at: old }),
    ]);
    expect(ids(cardsOfToday(board, new Date(NOW)))).toEqual(["long"]);
  });
});

test("why it waits is told by what it asks for", () => {
  const asking = (tool: string) =>
    buildCard(NOW, {
      session_id: "x",
      column: "needs_you",
      why: "permission",
      step: { tool_name: tool, title: "", since: null, call_id: null },
    });
  expect(describeWhy(asking("Bash"))).toBe("Asks to run a command");
  expect(describeWhy(asking("Write"))).toBe("Asks to change a file");
  expect(describeWhy(asking("mcp__db__drop"))).toBe("Asks to use a tool");
  expect(describeWhy({ ...asking("Bash"), step: null })).toBe("Asks for permission");
  expect(describeWhy({ ...asking("Bash"), why: "plan" })).toBe("Asks you to approve a plan");
});

describe("the last three hours", () => {
  test("what is older is cut off, and what waits stands first", () => {
    const { lanes } = buildLanes(buildBoard(NOW, cards), NOW);
    expect(lanes.map((lane) => lane.session).slice(0, 3)).toEqual(["b-push", "b-ask", "b-test"]);
    expect(lanes.at(-1)?.session).toBe("b-done-3");
    for (const bar of lanes.flatMap((lane) => lane.bars)) {
      expect(bar.left).toBeGreaterThanOrEqual(0);
      expect(bar.left + bar.width).toBeLessThanOrEqual(100.0001);
    }
    const board = buildBoard(NOW, cards);
    expect(buildLanes(board, NOW + 4 * 60 * MINUTE).lanes).toEqual([]);
  });

  test("a branch is named only where the project alone does not tell", () => {
    const { lanes } = buildLanes(buildBoard(NOW, cards), NOW);
    const branches = Object.fromEntries(lanes.map((lane) => [lane.session, lane.branch]));
    expect(branches).toMatchObject({ "b-ask": "report-errors", "b-test": "main", "b-push": null });
  });

  test("ticks are half hours", () => {
    expect(laneTicks(NOW).map((tick) => (NOW - tick) / MINUTE)).toEqual([180, 150, 120, 90, 60, 30]);
  });
});

test("a wait is new once, and not if it began before one looked", () => {
  const board = buildBoard(NOW, cards);
  const before = iso(NOW - 2 * MINUTE);
  const fresh = newWaits(board, before, new Set());
  expect(ids(fresh)).toEqual(["b-ask"]);
  expect(newWaits(board, before, new Set(fresh.map(waitKey)))).toEqual([]);
  const again = board.sessions.map((card) => ({ ...card, since: iso(NOW) }));
  expect(ids(newWaits({ ...board, sessions: again }, before, new Set(fresh.map(waitKey))))).toEqual([
    "b-push",
    "b-ask",
  ]);
});

describe("of a team", () => {
  const own = { person: "ben", machine: "m-1", host: "desk" };
  const team = [
    buildCard(NOW, { session_id: "a", ...own }),
    buildCard(NOW, { session_id: "b", person: "ada", machine: "m-22222222", host: "" }),
    buildCard(NOW, { session_id: "c", person: null, machine: "", host: "" }),
  ];
  test("cards stand by person and by machine", () => {
    expect(groupCards(team, "person").map(({ name }) => name)).toEqual(["ben", "ada", "Nobody"]);
    expect(groupCards(team, "machine").map(({ name }) => name)).toEqual(["desk", "m-222222", "No machine"]);
  });
  test("they are narrowed down by both, nobody's too", () => {
    expect(ids(narrowCards(team, { person: "ben", machine: null }))).toEqual(["a"]);
    expect(ids(narrowCards(team, { person: "", machine: null }))).toEqual(["c"]);
    expect(ids(narrowCards(team, { person: "ben", machine: "m-22222222" }))).toEqual([]);
    expect(narrowCards(team, { person: null, machine: null })).toBe(team);
    expect(listOwners(team)).toEqual({
      persons: [
        ["ada", "ada"],
        ["ben", "ben"],
        ["", "Nobody"],
      ],
      machines: [
        ["m-1", "desk"],
        ["m-22222222", "m-222222"],
      ],
    });
  });
});
