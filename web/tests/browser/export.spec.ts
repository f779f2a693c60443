import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { type Page, expect, test } from "@playwright/test";

import { MARKUP } from "../fixture/hostile";
import { hostileSession } from "../fixture/hostile-lines";

// A session as one HTML file, written by the program itself, opened from disk.

const run = promisify(execFile);
const exported = test.extend<{ address: string; complaints: string[]; opened: Page }>({
  address: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "turnlog-export-"));
    const [source, target] = [join(folder, "5d1c.jsonl"), join(folder, "page.html")];
    await writeFile(source, hostileSession() + "\n");
    const env = { ...process.env, HOME: folder, TURNLOG_HOME: join(folder, "turnlog") };
    await run("../.venv/bin/turnlog", ["export", source, "--format", "html", "--output", target], { env });
    await use(pathToFileURL(target).href);
    await rm(folder, { recursive: true, force: true });
  },
  complaints: async ({}, use) => {
    await use([]);
  },
  opened: async ({ page, address, complaints }, use) => {
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => complaints.push(dialog.message()));
    page.on("request", (request) => {
      if (request.url() !== address) complaints.push(`asked for ${request.url()}`);
    });
    await page.goto(address);
    await use(page);
    expect(complaints).toEqual([]);
    expect(await page.evaluate(() => "__run" in window)).toBe(false);
  },
});

exported("a hostile session is text in it: nothing runs, nothing is asked for", async ({ opened }) => {
  await opened.getByRole("button", { name: "Unfold all" }).click();
  await expect(opened.locator("article.human .prose").first()).toContainText(MARKUP[0] ?? "");
  await expect(opened.locator("details.call").first()).toContainText("failed");
  await expect(opened.getByText("javascript:window.__run=6").first()).toBeVisible();
  await expect(opened.locator("main a:not(.turn a), main img, main iframe, main svg, main script")).toHaveCount(
    0,
  );
  await expect(opened.getByText("ordinary\\u202e things")).toBeVisible();
  await expect(opened.locator("h1").first()).toHaveText(MARKUP[0] ?? "");
});

exported("it can be searched, folded and turned dark", async ({ opened }) => {
  const pieces = opened.locator("[data-piece]");
  const all = await pieces.count();
  await opened.keyboard.press("/");
  await opened.keyboard.type("second prompt");
  await expect(opened.locator("#told")).toHaveText(`1 of ${String(all)}`);
  await expect(pieces.filter({ visible: true })).toHaveCount(1);
  await opened.keyboard.press("Escape");
  await expect(pieces.filter({ visible: true })).toHaveCount(all);
  const paper = () => opened.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await paper();
  await opened.getByRole("button", { name: "Light or dark" }).click();
  expect(await paper()).not.toBe(before);
  await opened.getByRole("button", { name: "Unfold all" }).click();
  await expect(opened.locator("details:not([open])")).toHaveCount(0);
});

exported("on a phone nothing is wider than the screen", async ({ opened }) => {
  await opened.setViewportSize({ width: 360, height: 740 });
  await opened.getByRole("button", { name: "Unfold all" }).click();
  const excess = await opened.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(excess).toBeLessThanOrEqual(0);
});
