/** How fast a conversation is there, and how light it stays: printed by `make bench`. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import type { Page } from "@playwright/test";

import { SILENT } from "../fixture/archive";
import { LONG, longCalling, longMessage, longTurns, richMessage } from "../fixture/long";
import type { Fixture } from "../fixture/server";
import { test } from "../browser/page";
import { watchTasks } from "./tasks";

const PAGE =
  process.env["TURNLOG_PAGE"] ?? fileURLToPath(new URL("../../../src/turnlog/server/page", import.meta.url));
const RUNS = 5;
const print = (line: string) => {
  process.stdout.write(`${line}\n`);
};

function giveMessages(fixture: Fixture, total: number, at = longMessage): void {
  const turns = longTurns().filter((turn) => turn.prompt < total);
  fixture.give(SILENT, { total, at, turns, calling: longCalling });
}

/** From the request of the page to the frame in which its first message stands. */
async function paintTime(page: Page): Promise<number> {
  await page.goto(`/sessions/${SILENT}`);
  await page.waitForFunction(() => performance.getEntriesByName("first-row").length > 0);
  return page.evaluate(() => performance.getEntriesByName("first-row")[0]?.startTime ?? Number.NaN);
}

async function watchPage(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const marked = () => performance.getEntriesByName("first-row").length > 0;
    new MutationObserver((_, observer) => {
      if (marked() || !document.querySelector(".fl-row article")) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => performance.mark("first-row")));
    }).observe(document, { childList: true, subtree: true });
  });
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

for (const total of [100, 10_000, LONG]) {
  test(`time to the first paint of ${total} messages`, async ({ page, fixture }) => {
    giveMessages(fixture, total);
    await watchPage(page);
    const times: number[] = [];
    for (let run = 0; run < RUNS; run += 1) times.push(await paintTime(page));
    const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
    print(
      `conversation of ${total} messages: painted in ${Math.round(median(times))} ms ` +
        `(${times.map(Math.round).join(", ")}), ${nodes} elements`,
    );
  });
}

for (const [kind, at] of [
  ["short", longMessage],
  ["long", richMessage],
] as const) {
  test(`scrolling through 100,000 messages with ${kind} texts`, async ({ page, fixture }) => {
    giveMessages(fixture, LONG, at);
    await scrollThrough(page, kind);
  });
}

async function scrollThrough(page: Page, kind: string): Promise<void> {
  await watchPage(page);
  await paintTime(page);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { metrics } = await session.send("Performance.getMetrics");
    return (metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? 0) / 1e6;
  };
  const before = await heap();
  const wheeled = await watchTasks(session);
  let nodes = 0;
  await page.locator(".scroll").hover();
  for (let step = 0; step < 300; step += 1) {
    await page.mouse.wheel(0, 500);
    if (step % 20 === 0) {
      nodes = Math.max(nodes, await page.evaluate(() => document.querySelectorAll("*").length));
    }
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  const wheel = await wheeled();
  const jumped = await watchTasks(session);
  for (let part = 0; part <= 40; part += 1) {
    await page.locator(".scroll").evaluate((element, share) => {
      element.scrollTop = element.scrollHeight * share;
    }, part / 40);
    await page.waitForFunction(isDrawn);
    nodes = Math.max(nodes, await page.evaluate(() => document.querySelectorAll("*").length));
  }
  print(`${kind} texts, scrolling by wheel: ${wheel}`);
  print(`${kind} texts, jumping through all: ${await jumped()}`);
  print(
    `most elements in the document: ${nodes}; heap ${before.toFixed(1)} MB before, ${(await heap()).toFixed(1)} MB after`,
  );
}

/** Whether messages stand where one looks, and not gaps. */
function isDrawn(): boolean {
  const box = document.querySelector(".scroll")?.getBoundingClientRect();
  const rows = [...document.querySelectorAll(".fl-row")].map((row) => row.getBoundingClientRect());
  return (
    box !== undefined &&
    rows.some(({ top, bottom }) => top < box.top + box.height / 2 && bottom > box.top + 100) &&
    document.querySelector(".undrawn") === null
  );
}

test("what is loaded first", async ({ page, fixture }) => {
  giveMessages(fixture, 100);
  const loaded = new Set<string>();
  page.on("request", (request) => {
    const path = new URL(request.url()).pathname;
    if (path.endsWith(".js")) loaded.add(path);
  });
  await watchPage(page);
  await paintTime(page);
  let first = 0;
  for (const path of loaded) first += gzipSync(await readFile(join(PAGE, path))).length;
  let all = 0;
  for (const name of await readdir(join(PAGE, "assets"))) {
    if (name.endsWith(".js")) all += gzipSync(await readFile(join(PAGE, "assets", name))).length;
  }
  print(
    `JavaScript, gzipped: ${(first / 1000).toFixed(0)} kB to show a conversation, ${(all / 1000).toFixed(0)} kB in all`,
  );
});
