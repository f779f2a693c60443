import { expect, test } from "vitest";

import type { WindowRequest } from "@/api/client";
import type { MessageWindow } from "@/api/types";
import { Flow } from "@/state/flow/flow";
import { countLoaded } from "@/state/flow/layout";
import type { Gap } from "@/state/flow/layout";

import { buildMessage } from "../fixture/builders";

const TOTAL = 10_000;
const LIMIT = 80;

/** A server of 10,000 messages that notes what it is asked for. */
function server() {
  const asked: WindowRequest[] = [];
  const load = (which: WindowRequest, _source: string | null, signal: AbortSignal): Promise<MessageWindow> => {
    asked.push(which);
    let first = 0;
    if ("around" in which) first = Math.max(0, Number(which.around) - LIMIT / 2);
    if ("after" in which) first = Number(which.after) + 1;
    if ("before" in which) first = Math.max(0, Number(which.before) - LIMIT);
    const last = Math.min(TOTAL, first + LIMIT) - 1;
    const window: MessageWindow = {
      items: Array.from({ length: last - first + 1 }, (_, n) => buildMessage(first + n)),
      total: TOTAL,
      before: first > 0 ? String(first) : null,
      after: last < TOTAL - 1 ? String(last) : null,
      revision: 1,
    };
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => {
        reject(new Error("aborted"));
      });
      setTimeout(() => {
        resolve(window);
      }, 1);
    });
  };
  return { asked, flow: new Flow(load) };
}

function gapOf(flow: Flow, first: number): Gap {
  const gap = flow.state.get().layout.find((part) => part.kind === "gap" && part.first === first);
  if (gap?.kind !== "gap") throw new Error(`no gap at ${first}`);
  return gap;
}

test("opening loads the beginning, or the surroundings of a message", async () => {
  const { flow, asked } = server();
  expect((await flow.open(null))?.index).toBe(0);
  expect((await flow.open(5000))?.index).toBe(5000);
  expect((await flow.open(5001))?.index).toBe(5001);
  expect(asked).toEqual([{ first: true }, { around: 5000 }]);
});

test("a gap beside what is read is filled from there by cursor", async () => {
  const { flow, asked } = server();
  await flow.open(5000);
  await flow.reach({ gap: gapOf(flow, 5040), top: -100, bottom: 800 });
  const above = gapOf(flow, 0);
  await flow.reach({ gap: above, top: above.height - 800, bottom: above.height + 100 });
  expect(asked.slice(1)).toEqual([{ after: "5039" }, { before: "4960" }]);
  expect(flow.state.get().layout.map((part) => [part.kind, part.first, part.last])).toEqual([
    ["gap", 0, 4879],
    ["stretch", 4880, 5119],
    ["gap", 5120, 9999],
  ]);
});

test("in the middle of a gap, what stands there is loaded", async () => {
  const { flow, asked } = server();
  await flow.open(null);
  const gap = gapOf(flow, 80);
  await flow.reach({ gap, top: gap.height / 2 - 400, bottom: gap.height / 2 + 400 });
  expect(asked.at(-1)).toEqual({ around: 80 + 4960 });
});

test("a place that was only passed is given up for the place one is at", async () => {
  const { flow } = server();
  await flow.open(null);
  const gap = gapOf(flow, 80);
  const errors: unknown[] = [];
  flow.state.subscribe(() => errors.push(flow.state.get().error));
  const passed = flow.reach({ gap, top: 100_000, bottom: 100_800 });
  const stayed = flow.reach({ gap, top: 300_000, bottom: 300_800 });
  await Promise.all([passed, stayed]);
  expect(flow.state.get().layout.filter((part) => part.kind === "stretch")).toHaveLength(2);
  expect(errors).toEqual([null]);
});

test("what was asked for by name is not given up for what is in sight", async () => {
  const { flow } = server();
  await flow.open(null);
  const gap = gapOf(flow, 80);
  const [found] = await Promise.all([flow.open(9000), flow.reach({ gap, top: -100, bottom: 800 })]);
  expect(found?.index).toBe(9000);
});

test("memory is bounded: what is far away is let go", async () => {
  const { flow } = server();
  await flow.open(null);
  for (let n = 0; n < 40; n += 1) {
    const gap = flow.state.get().layout.find((part) => part.kind === "gap" && part.first > 0);
    if (gap?.kind !== "gap") throw new Error("no gap");
    await flow.reach({ gap, top: -1, bottom: 500 });
    flow.trim(gap.first - 10, gap.first, (first, last) => last - first + 1);
  }
  const loaded = flow.state.get().layout.flatMap((part) => (part.kind === "stretch" ? part.messages : []));
  expect(loaded.length).toBeLessThanOrEqual(1700);
  expect(loaded.at(-1)?.index).toBe(41 * LIMIT - 1);
});

test("a failure keeps what is there, and is forgotten when asked", async () => {
  const flow = new Flow((which) =>
    "first" in which
      ? Promise.resolve({ items: [buildMessage(0)], total: 50, before: null, after: "0", revision: 1 })
      : Promise.reject(new Error("gone")),
  );
  await flow.open(null);
  await flow.reach({ gap: gapOf(flow, 1), top: -1, bottom: 100 });
  expect(flow.state.get()).toMatchObject({ status: "open", error: { message: "gone" } });
  flow.forgive();
  expect(flow.state.get().error).toBeNull();
});

test("a uuid may lead to another file, whose messages take the place of these", async () => {
  const asked: (string | null)[] = [];
  const flow = new Flow((which, source) => {
    asked.push(source);
    const agent = "around" in which && which.around === "agent-message";
    const own = agent || source === "agent" ? "agent" : "main";
    const uuid = agent ? "agent-message" : `${own}-0`;
    const items =
      own === "agent"
        ? [buildMessage(0, { source: own, uuid })]
        : [0, 1, 2].map((index) => buildMessage(index));
    return Promise.resolve({ items, total: 50, before: null, after: "0", revision: 1 });
  });
  await flow.open(null);
  expect((await flow.open("agent-message"))?.source).toBe("agent");
  expect(countLoaded(flow.state.get().layout)).toBe(1);
  await flow.reach({ gap: gapOf(flow, 1), top: -1, bottom: 100 });
  expect(asked).toEqual([null, null, "agent"]);
  expect(flow.state.get().source).toBe("agent");
});
