import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { LiveEvent } from "@/api/live";
import { Live } from "@/state/live/live";
import { refreshQueries } from "@/state/live/refresh";

import { FakeStreams } from "./fakes";

const KEYS = [
  ["session", "s-1"],
  ["session", "s-2"],
  ["turns", "s-1"],
  ["calls", "s-1", "m-open"],
  ["calls", "s-1", "m-over"],
  ["sessions", {}],
  ["projects"],
  ["mission-control"],
  ["status"],
] as const;

async function start() {
  const streams = new FakeStreams();
  const now = (run: () => void) => {
    queueMicrotask(run);
    return () => undefined;
  };
  const live = new Live({ open: streams.open, locks: null, channel: null }, now, now);
  const client = new QueryClient();
  const asked: string[] = [];
  for (const queryKey of KEYS) {
    const observer = new QueryObserver(client, {
      queryKey,
      staleTime: Infinity,
      queryFn: () => {
        asked.push(
          queryKey
            .map((part) => (typeof part === "string" ? part : ""))
            .join(" ")
            .trim(),
        );
        return queryKey[2] === "m-open" ? [{ result: null }] : queryKey[2] === "m-over" ? [{ result: {} }] : {};
      },
    });
    observer.subscribe(() => undefined);
  }
  await vi.advanceTimersByTimeAsync(0);
  live.start();
  const stop = refreshQueries(client, live);
  asked.length = 0;
  const say = async (event: LiveEvent) => {
    streams.say(event);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { say, asked, client, stop, streams };
}

const change = (kind: "session-changed" | "session-marked" | "session-access"): LiveEvent => ({
  type: "change",
  id: "e:1",
  change: { kind, session: "s-1", session_id: "uuid-1", revision: 1, seq: 1 },
});

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("a session that changed: its own answers, the list and the board, and nothing else", async () => {
  const { say, asked } = await start();
  await say(change("session-changed"));
  expect(asked.toSorted()).toEqual([
    "calls s-1 m-open",
    "mission-control",
    "session s-1",
    "sessions",
    "turns s-1",
  ]);
});

test("a mark changes the session and the list", async () => {
  const { say, asked } = await start();
  await say(change("session-marked"));
  expect(asked.toSorted()).toEqual(["session s-1", "sessions"]);
});

test("a session that others may see now, or may not: lists of any length, and nothing of it stays unseen", async () => {
  const { say, asked, client } = await start();
  client.setQueryData(["around", "s-1", "x"], { items: [] });
  client.setQueryData(["around", "s-2", "x"], { items: [] });
  client.setQueryData(["sessions", {}], { pages: [1, 2, 3, 4, 5] });
  await say(change("session-changed"));
  expect(asked).not.toContain("sessions");
  await vi.advanceTimersByTimeAsync(5000);
  asked.length = 0;
  await say(change("session-access"));
  expect(asked.toSorted()).toEqual(["mission-control", "projects", "session s-1", "sessions", "status"]);
  expect(client.getQueryData(["around", "s-1", "x"])).toBeUndefined();
  expect(client.getQueryData(["around", "s-2", "x"])).toBeDefined();
});

test("lists are asked for at intervals, however much happens; the session itself each time", async () => {
  const { say, asked } = await start();
  for (let n = 0; n < 20; n += 1) await say(change("session-changed"));
  expect(asked.filter((name) => name === "sessions")).toHaveLength(1);
  expect(asked.filter((name) => name === "session s-1")).toHaveLength(20);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(asked.filter((name) => name === "sessions")).toHaveLength(2);
});

test("a state moves the board and the counts", async () => {
  const { say, asked } = await start();
  await say({ type: "state", state: { session_id: "uuid-1", column: "needs_you", why: "permission" } });
  expect(asked.toSorted()).toEqual(["mission-control", "status"]);
});

test("a reset: everything", async () => {
  const { say, asked } = await start();
  await say({ type: "reset", id: "f:1" });
  expect(asked).toHaveLength(KEYS.length);
});

test("what was loaded before the first stream was open may be old", async () => {
  const { say, asked } = await start();
  await vi.advanceTimersByTimeAsync(5);
  await say({ type: "hello", id: "e:0" });
  expect(asked).toHaveLength(KEYS.length);
  await say({ type: "hello", id: "e:4" });
  expect(asked).toHaveLength(KEYS.length);
});

test("how the sync goes is taken as it is told", async () => {
  const { say, asked, client } = await start();
  client.setQueryData(["status"], { version: "1", sync: null });
  const sync = { phase: "watching", done: 1, total: 1, failing: false, last_at: null } as const;
  await say({ type: "sync", sync });
  expect(client.getQueryData(["status"])).toEqual({ version: "1", sync });
  expect(asked).toEqual([]);
});

test("a tab that nobody looks at asks only for what shows outside", async () => {
  vi.stubGlobal("document", { hidden: true });
  const { say, asked, client } = await start();
  await say(change("session-changed"));
  expect(asked).toEqual(["mission-control"]);
  expect(client.getQueryState(["session", "s-1"])?.isInvalidated).toBe(true);
});

test("a kind of change that a newer server tells of does no harm", async () => {
  const { say, asked } = await start();
  await say({
    ...change("session-marked"),
    change: { kind: "session-sung", session: "s-1" },
  } as unknown as LiveEvent);
  expect(asked).toEqual([]);
});

test("how reading goes is not put back by an answer from before", async () => {
  const { say, client } = await start();
  const answers: ((sync: unknown) => void)[] = [];
  const status = new QueryObserver(client, {
    queryKey: ["status"],
    queryFn: () =>
      new Promise((resolve) =>
        answers.push((sync) => {
          resolve({ sync });
        }),
      ),
  });
  status.subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  expect(answers).toHaveLength(1);
  const watching = { phase: "watching", done: 0, total: 0, failing: false, last_at: null } as const;
  await say({ type: "sync", sync: watching });
  answers[0]?.({ phase: "syncing" });
  await vi.advanceTimersByTimeAsync(0);
  answers[1]?.(watching);
  await vi.advanceTimersByTimeAsync(0);
  expect(client.getQueryData(["status"])).toEqual({ sync: watching });
});

test("behind a gap it is asked how reading goes, and nothing else", async () => {
  const { say, asked, streams } = await start();
  await say({ type: "hello", id: "e:1" });
  asked.length = 0;
  streams.cut();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toEqual([]);
  await say({ type: "hello", id: "e:1" });
  expect(asked).toEqual(["status"]);
});
