import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { LiveEvent, LiveStatus } from "@/api/live";
import { Line } from "@/state/live/line";

import { FakeStreams } from "./fakes";

const hello = (id: string): LiveEvent => ({ type: "hello", id });
const change = (id: string): LiveEvent => ({
  type: "change",
  id,
  change: { kind: "session-changed", session: "s", session_id: null, revision: 1, seq: 1 },
});

function start(after: string | null = null) {
  const streams = new FakeStreams();
  const events: LiveEvent[] = [];
  const statuses: LiveStatus[] = [];
  const line = new Line(streams.open, {
    onEvent: (event) => events.push(event),
    onStatus: (status) => statuses.push(status),
  });
  line.start(after);
  return { streams, events, statuses, line };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a stream that was cut goes on from the last event", () => {
  const { streams } = start();
  streams.say(hello("e:4"));
  streams.say(change("e:5"));
  streams.cut();
  vi.runOnlyPendingTimers();
  expect(streams.opened).toEqual([null, "e:5"]);
});

test("the greeting of a stream that goes on does not hide what comes in between", () => {
  const { streams } = start();
  streams.say(hello("e:4"));
  streams.cut();
  vi.runOnlyPendingTimers();
  streams.say(hello("e:9"));
  streams.cut();
  vi.runOnlyPendingTimers();
  expect(streams.opened).toEqual([null, "e:4", "e:4"]);
});

test("after a reset it goes on from the new id", () => {
  const { streams } = start("old:1");
  streams.say(hello("new:3"));
  streams.say({ type: "reset", id: "new:3" });
  streams.cut();
  vi.runOnlyPendingTimers();
  expect(streams.opened).toEqual(["old:1", "new:3"]);
});

test("one cut worries nobody; a server that stays away does", () => {
  const { streams, statuses } = start();
  streams.say(hello("e:1"));
  streams.cut();
  expect(statuses).toEqual(["open", "connecting"]);
  vi.runOnlyPendingTimers();
  streams.cut();
  expect(statuses.at(-1)).toBe("lost");
  vi.runOnlyPendingTimers();
  streams.say(hello("e:1"));
  expect(statuses.at(-1)).toBe("open");
});

test("pauses grow, and are cut short by whoever knows that the server is back", () => {
  const { streams, line } = start();
  for (let n = 0; n < 12; n += 1) {
    streams.cut();
    vi.advanceTimersByTime(10_000);
  }
  expect(streams.opened).toHaveLength(13);
  streams.cut();
  vi.advanceTimersByTime(9000);
  expect(streams.count).toBe(0);
  line.poke();
  expect(streams.count).toBe(1);
  line.poke();
  expect(streams.opened).toHaveLength(14);
});

test("a line that was stopped stays silent", () => {
  const { streams, line } = start();
  streams.cut();
  line.stop();
  vi.runAllTimers();
  expect(streams.opened).toHaveLength(1);
});
