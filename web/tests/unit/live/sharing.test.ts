import { expect, test, vi } from "vitest";

import type { LiveEvent, LiveStatus } from "@/api/live";
import { SharedStream } from "@/state/live/sharing";

import { FakeBrowser, FakeStreams } from "./fakes";

const change = (seq: number): LiveEvent => ({
  type: "change",
  id: `e:${seq}`,
  change: { kind: "session-changed", session: "s", session_id: null, revision: seq, seq },
});

interface Tab {
  readonly stream: SharedStream;
  readonly heard: string[];
  readonly statuses: LiveStatus[];
  readonly fresh: number[];
}

async function openTab(streams: FakeStreams, browser: FakeBrowser | null): Promise<Tab> {
  const heard: string[] = [];
  const statuses: LiveStatus[] = [];
  const fresh: number[] = [];
  const stream = new SharedStream(
    { open: streams.open, locks: browser?.locks ?? null, channel: browser?.channel ?? null },
    {
      onEvent: (event) => heard.push("id" in event ? event.id : event.type),
      onStatus: (status) => statuses.push(status),
      onFresh: () => fresh.push(1),
    },
  );
  stream.start();
  await settle();
  return { stream, heard, statuses, fresh };
}

async function settle(): Promise<void> {
  for (let n = 0; n < 10; n += 1) await Promise.resolve();
}

test("three tabs share one stream, and all hear everything", async () => {
  const streams = new FakeStreams();
  const browser = new FakeBrowser();
  const tabs = [
    await openTab(streams, browser),
    await openTab(streams, browser),
    await openTab(streams, browser),
  ];
  streams.say({ type: "hello", id: "e:0" });
  streams.say(change(1));
  streams.say({ type: "state", state: { session_id: "x", column: "needs_you", why: "permission" } });
  expect(streams.opened).toHaveLength(1);
  for (const tab of tabs) expect(tab.heard).toEqual(["e:0", "e:1", "state"]);
  expect(tabs.map((tab) => tab.stream.leads)).toEqual([true, false, false]);
  expect(tabs.map((tab) => tab.fresh.length)).toEqual([1, 0, 0]);
});

test("when the tab that leads is closed, another one goes on without a gap", async () => {
  const streams = new FakeStreams();
  const browser = new FakeBrowser();
  const first = await openTab(streams, browser);
  const second = await openTab(streams, browser);
  streams.say({ type: "hello", id: "e:0" });
  streams.say(change(1));
  first.stream.stop();
  await settle();
  expect(second.stream.leads).toBe(true);
  expect(streams.opened).toEqual([null, "e:1"]);
  expect(streams.count).toBe(1);
  streams.say({ type: "hello", id: "e:3" });
  streams.say(change(2));
  expect(second.heard).toEqual(["e:0", "e:1", "e:3", "e:2"]);
  expect(second.fresh).toEqual([]);
});

test("a tab that comes late learns how things are, and where they are", async () => {
  const streams = new FakeStreams();
  const browser = new FakeBrowser();
  const first = await openTab(streams, browser);
  streams.say({ type: "hello", id: "e:0" });
  streams.say(change(7));
  const late = await openTab(streams, browser);
  expect(late.statuses).toEqual(["open"]);
  first.stream.stop();
  await settle();
  expect(streams.opened.at(-1)).toBe("e:7");
});

test("without locks each tab has a stream of its own", async () => {
  const streams = new FakeStreams();
  const tabs = [await openTab(streams, null), await openTab(streams, null)];
  streams.say({ type: "hello", id: "e:0" });
  expect(streams.opened).toHaveLength(2);
  for (const tab of tabs) expect(tab.heard).toEqual(["e:0"]);
});

test("any tab may say that the server is back", async () => {
  vi.useFakeTimers();
  const streams = new FakeStreams();
  const browser = new FakeBrowser();
  await openTab(streams, browser);
  const second = await openTab(streams, browser);
  streams.cut();
  expect(second.statuses.at(-1)).toBe("connecting");
  second.stream.poke();
  expect(streams.opened).toHaveLength(2);
  vi.useRealTimers();
});
