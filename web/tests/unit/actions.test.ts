import { describe, expect, test } from "vitest";

import type { Action, ActionPage } from "@/api/actions";
import {
  actionQuery,
  actionsPath,
  CATEGORY_NAMES,
  NO_ACTION_FILTER,
  onlyCategory,
  parseActionFilter,
  toggleCategory,
} from "@/lib/action-filter";
import { logPart } from "@/lib/strip";
import { ActionLog } from "@/state/actions/log";
import { buildOverview } from "@/state/actions/overview";
import { buildLogRows, listNames } from "@/state/actions/rows";

import { buildAction, buildDay, listActions } from "../fixture/actions";
import { buildPrompt, buildTurn } from "../fixture/builders";

describe("the filter in the address", () => {
  test("comes back as it was", () => {
    const filter = {
      off: ["agent", "queue"],
      outcome: "failed",
      name: "mcp__a__b & c",
      min_ms: 1000,
      sort: "slowest",
    } as const;
    const [, search = ""] = actionsPath("s 1", filter).split("?");
    expect(parseActionFilter(search)).toEqual(filter);
  });

  test("is short where all is as always, and can say that nothing is left out", () => {
    expect(actionsPath("s 1")).toBe("/actions/s%201");
    expect(actionsPath("s", { ...NO_ACTION_FILTER, off: [] })).toBe("/actions/s?off=none");
    expect(parseActionFilter("off=none").off).toEqual([]);
  });

  test("nonsense is left out", () => {
    expect(parseActionFilter("outcome=constructor&min_ms=-4&sort=x&off=constructor")).toEqual({
      ...NO_ACTION_FILTER,
      off: [],
    });
  });

  test("the API is asked for the categories that are wanted", () => {
    expect(actionQuery({ ...NO_ACTION_FILTER, off: [] }).has("category")).toBe(false);
    expect(actionQuery(NO_ACTION_FILTER).getAll("category")).toHaveLength(8);
  });

  test("a category goes and comes; the last one that goes brings all back", () => {
    const off = toggleCategory({ ...NO_ACTION_FILTER, off: [] }, "agent");
    expect(off.off).toEqual(["agent"]);
    expect(toggleCategory(off, "agent").off).toEqual([]);
    const only = onlyCategory(off, "mcp");
    expect(CATEGORY_NAMES.filter((name) => !only.off.includes(name))).toEqual(["mcp"]);
    expect(toggleCategory(only, "mcp").off).toEqual([]);
    expect(onlyCategory(only, "mcp").off).toEqual([]);
  });
});

describe("the log", () => {
  function logOf(all: () => readonly Action[], query = "limit=10", inOrder = true) {
    const asked: (string | null)[] = [];
    const log = new ActionLog((cursor) => {
      asked.push(cursor);
      const params = new URLSearchParams(query);
      if (cursor !== null) params.set("cursor", cursor);
      return Promise.resolve(listActions(all(), params));
    }, inOrder);
    return { log, asked };
  }
  const many = (count: number) => Array.from({ length: count }, (_, n) => buildAction(n));

  test("comes page by page, and says when these are all", async () => {
    const { log, asked } = logOf(() => many(25));
    await log.more();
    expect(log.state.get()).toMatchObject({ total: 25, complete: false, status: "open" });
    await log.more();
    await log.more();
    await log.more();
    expect(asked).toEqual([null, "10", "20"]);
    expect(log.state.get().complete).toBe(true);
    expect(log.state.get().items).toHaveLength(25);
  });

  test("when the session grows, only the last page is asked for again, and those with something under way", async () => {
    let all: readonly Action[] = many(35).map((action) =>
      action.index === 12 ? { ...action, state: "running" as const, duration_ms: null } : action,
    );
    const { log, asked } = logOf(() => all);
    for (let n = 0; n < 4; n += 1) await log.more();
    asked.length = 0;
    all = [...many(35), buildAction(35, { title: "new" })];
    await log.refresh();
    expect(asked).toEqual(["10", "30"]);
    expect(log.state.get().items[12]?.state).toBe("ok");
    expect(log.state.get().items.at(-1)?.title).toBe("new");
    asked.length = 0;
    await log.refresh();
    expect(asked).toEqual(["30"]);
  });

  test("whoever hears of a page can ask for the next one at once", async () => {
    const { log } = logOf(() => many(45));
    const stop = log.state.subscribe(() => {
      if (!log.state.get().complete) void log.more();
    });
    await log.more();
    await expect.poll(() => log.state.get().items.length).toBe(45);
    stop();
  });

  test("what changes while a page comes in is not missed", async () => {
    let all: readonly Action[] = many(3);
    const { log, asked } = logOf(() => all);
    const first = log.more();
    void log.refresh();
    all = many(4);
    await first;
    expect(log.state.get().items).toHaveLength(4);
    expect(asked).toEqual([null, null]);
  });

  test("a page that does not come leaves what is there, and can be asked for again", async () => {
    let broken = false;
    const log = new ActionLog((cursor) => {
      if (broken) return Promise.reject(new Error("gone"));
      const query = new URLSearchParams({ limit: "10", ...(cursor !== null && { cursor }) });
      return Promise.resolve<ActionPage>(listActions(many(25), query));
    }, true);
    await log.more();
    broken = true;
    await log.more();
    expect(log.state.get()).toMatchObject({ status: "open", error: { message: "gone" } });
    expect(log.state.get().items).toHaveLength(10);
    broken = false;
    await log.retry();
    await log.more();
    expect(log.state.get().error).toBeNull();
    expect(log.state.get().items).toHaveLength(20);
  });
});

describe("rows", () => {
  const day = buildDay();
  const turns = [0, 1, 2].map((n) => buildTurn(n, buildPrompt(n, `prompt ${n}`, n)));

  test("a heading stands where another turn begins, with its sums", () => {
    const rows = buildLogRows(day, turns, true, true);
    const heads = rows.filter((row) => row.kind === "turn");
    expect(heads.map((head) => [head.number, head.actions, head.failed])).toEqual([
      [2, 19, 3],
      [3, 1, 0],
    ]);
    expect(buildLogRows(day, turns, false, true)).toHaveLength(day.length);
  });

  test("the sums of a turn that is not all there are not told", () => {
    const heads = buildLogRows(day.slice(0, 5), turns, true, false).filter((row) => row.kind === "turn");
    expect(heads.map((head) => head.actions)).toEqual([null]);
  });

  test("names are all there are, the most frequent first, and the one that is chosen", () => {
    const { names } = listActions(day, new URLSearchParams("limit=1"));
    expect(listNames(names, null)[0]?.[0]).toBe("Bash");
    expect(listNames(names, null)).toHaveLength(Object.keys(names).length);
    expect(listNames(names, "Zap").at(-1)).toEqual(["Zap", 0]);
  });
});

test("the overview fills its width, and its highest bar is the fullest stretch", () => {
  const page = listActions(buildDay(), new URLSearchParams());
  const overview = buildOverview(page.overview);
  expect(overview?.bars[0]?.left).toBe(0);
  const last = overview?.bars.at(-1);
  expect((last?.left ?? 0) + (last?.width ?? 0)).toBeCloseTo(1);
  const top = overview?.bars.reduce((a, b) => (a.height >= b.height ? a : b));
  expect(top?.actions).toBe(Math.max(...page.overview.map((span) => span.actions)));
  expect(buildOverview([])).toBeNull();
});

test("a logarithmic scale runs from 0 to 1", () => {
  expect([null, 0, 1, 60_000, 1e9].map((ms) => logPart(ms, 1, 60_000))).toEqual([0, 0, 0, 1, 1]);
  expect(logPart(38, 1, 60_000)).toBeCloseTo(0.33, 2);
});
