import { expect, test } from "vitest";

import type { LiveEvent } from "@/api/live";
import type { ChangeKind } from "@/api/types";
import type { News } from "@/state/live/batches";
import { Live } from "@/state/live/live";

import { FakeStreams } from "./fakes";

function start() {
  const streams = new FakeStreams();
  let frames: (() => void)[] = [];
  const schedule = (run: () => void) => {
    frames.push(run);
    return () => {
      frames = frames.filter((other) => other !== run);
    };
  };
  const live = new Live({ open: streams.open, locks: null, channel: null }, schedule, schedule);
  live.start();
  streams.say({ type: "hello", id: "e:0" });
  const draw = () => {
    const due = frames;
    frames = [];
    for (const run of due) run();
  };
  return { live, streams, draw, waiting: () => frames.length };
}

let seq = 0;
function change(
  session: string,
  kind: ChangeKind = "session-changed",
  session_id: string | null = null,
): LiveEvent {
  seq += 1;
  return { type: "change", id: `e:${seq}`, change: { kind, session, session_id, revision: seq, seq } };
}

test("many events of a session become one piece of news in a frame", () => {
  const { live, streams, draw, waiting } = start();
  const heard: News[] = [];
  live.subscribe("s-1", (news) => heard.push(news));
  for (let n = 0; n < 100; n += 1) streams.say(change("s-1"));
  streams.say(change("s-1", "hook-delivered"));
  expect(heard).toEqual([]);
  expect(waiting()).toBe(2);
  draw();
  expect(heard).toHaveLength(1);
  expect(heard[0]?.changes.map((one) => one.kind)).toEqual(["session-changed", "hook-delivered"]);
  expect(heard[0]?.changes[0]?.seq).toBe(seq - 1);
  draw();
  expect(heard).toHaveLength(1);
});

test("whoever asks for one session hears of no other one, and knows it by its key or its id", () => {
  const { live, streams, draw } = start();
  const heard: string[] = [];
  live.subscribe("s-1", () => heard.push("key"));
  live.subscribe("uuid-1", () => heard.push("id"));
  const stop = live.subscribeAll(() => heard.push("all"));
  streams.say(change("s-2", "session-changed", "uuid-2"));
  draw();
  expect(heard).toEqual(["all"]);
  stop();
  streams.say(change("s-1", "session-changed", "uuid-1"));
  draw();
  expect(heard).toEqual(["all", "key", "id"]);
});

test("a reset concerns everybody", () => {
  const { live, streams, draw } = start();
  const heard: boolean[] = [];
  live.subscribe("s-1", (news) => heard.push(news.reset));
  streams.say({ type: "reset", id: "f:1" });
  draw();
  expect(heard).toEqual([true]);
});
