/** How fast a conversation is there, and how light it stays: printed by `make bench`. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import type { Page } from "@playwright/test";

import { SILENT } from "../fixture/archive";
import { LONG, longCalling, longMessage, longTurns } from "../fixture/long";
import type { Fixture } from "../fixture/server";
import { test } from "../browser/page";

const PAGE =
  process.env["TURNLOG_PAGE"] ?? fileURLToPath(new URL("../../../src/turnlog/server/page", import.meta.url));
const RUNS = 5;
const print = (line: string) => {
  process.stdout.write(`${line}\n`);
};

function giveMessages(fixture: Fixture, total: number): void {
  const turns = longTurns().filter((turn) => turn.prompt < total);
  fixture.give(SILENT, { total, at: longMessage, turns, calling: longCalling });
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
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) tasks.push(entry.duration);
    }).observe({ type: "longtask", buffered: true });
  });
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const longest = (page: Page) =>
  page.evaluate(() => Math.max(0, ...(window as unknown as { tasks: number[] }).tasks));

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

test("scrolling through 100,000 messages", async ({ page, fixture }) => {
  giveMessages(fixture, LONG);
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
  await page.evaluate(() => {
    (window as unknown as { tasks: number[] }).tasks.length = 0;
  });
  let nodes = 0;
  await page.locator(".scroll").hover();
  for (let step = 0; step < 300; step += 1) {
    await page.mouse.wheel(0, 500);
    if (step % 20 === 0) {
      nodes = Math.max(nodes, await page.evaluate(() => document.querySelectorAll("*").length));
    }
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  const wheel = await longest(page);
  for (let part = 0; part <= 40; part += 1) {
    await page.locator(".scroll").evaluate((element, share) => {
      element.scrollTop = element.scrollHeight * share;
    }, part / 40);
    await page.waitForFunction(() => document.querySelectorAll(".fl-row").length > 3);
    nodes = Math.max(nodes, await page.evaluate(() => document.querySelectorAll("*").length));
  }
  print(
    `scrolling by wheel: longest task ${Math.round(wheel)} ms; jumping through all: ${Math.round(await longest(page))} ms`,
  );
  print(
    `most elements in the document: ${nodes}; heap ${before.toFixed(1)} MB before, ${(await heap()).toFixed(1)} MB after`,
  );
});

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
