import { readFile } from "node:fs/promises";

import { expect as patient, test as real } from "@playwright/test";
import type { Page } from "@playwright/test";

import { STORY } from "../fixture/archive";
import { MARKUP } from "../fixture/hostile";
import { hostileSession } from "../fixture/hostile-lines";
import { findViolations } from "./axe";
import { serveSessions, stopDemo } from "./demo-server";
import { expect, test } from "./page";

const dialogOf = (page: Page) => page.getByRole("dialog", { name: "Export" });

async function openDialog(page: Page) {
  await page.goto(`/sessions/${STORY}`);
  await page.getByRole("button", { name: "Export…" }).click();
  const dialog = dialogOf(page);
  await expect(dialog.getByRole("row", { name: "2 tokens" })).toBeVisible();
  return dialog;
}

test("what would be taken out is told, and the whole file is given", async ({ page, fixture }) => {
  const dialog = await openDialog(page);
  await expect(dialog.getByRole("row", { name: "2 tokens" })).toContainText("12 times");
  await expect(dialog.getByText(".html, 30")).toBeVisible();
  await dialog.getByRole("button", { name: "Markdown" }).click();
  await dialog.getByLabel("Thinking").uncheck();
  await dialog.getByLabel("From turn").fill("2");
  await dialog.getByLabel("Your own words to remove").fill("Falcon, acme");
  await expect(dialog.getByRole("row", { name: "2 words of your own" })).toContainText("Falcon, acme");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Export", exact: true }).click(),
  ]);
  expect(file.suggestedFilename()).toMatch(/\.md$/);
  expect(await readFile(await file.path(), "utf8")).toBe("what was said, ".repeat(2000));
  await expect(dialog).toBeHidden();
  const asked = new URLSearchParams(fixture.exports.asked[0]);
  expect([...asked]).toEqual([
    ["id", STORY],
    ["format", "md"],
    ["thinking", "false"],
    ["word", "Falcon"],
    ["word", "acme"],
    ["first_turn", "2"],
  ]);
});

test("without redaction it says what that means", async ({ page }) => {
  const dialog = await openDialog(page);
  await dialog.getByLabel("Secrets, and who and where you are").uncheck();
  await expect(dialog.getByText("Nothing is removed.")).toBeVisible();
  await expect(dialog.getByLabel("Your own words to remove")).toBeDisabled();
  await dialog.getByRole("button", { name: "JSONL" }).click();
  await expect(dialog.getByLabel("Thinking")).toBeDisabled();
});

test("a file that breaks off is not given", async ({ page, fixture, expected }) => {
  expected.push(/net::ERR/);
  fixture.exports.breaking = true;
  const dialog = await openDialog(page);
  let downloads = 0;
  page.on("download", () => (downloads += 1));
  await dialog.getByRole("button", { name: "Export", exact: true }).click();
  await expect(dialog.getByText("The server is not responding.")).toBeVisible();
  expect(downloads).toBe(0);
  fixture.exports.breaking = false;
  await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Export", exact: true }).click(),
  ]);
});

test("it is reached and left by keys, and axe finds nothing", async ({ page }) => {
  await page.goto(`/sessions/${STORY}`);
  await expect(page.getByRole("article").first()).toBeVisible();
  await page.keyboard.press("x");
  await expect(dialogOf(page).getByRole("row", { name: "2 tokens" })).toBeVisible();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(dialogOf(page)).toBeHidden();
});

test("several sessions are packed into one file", async ({ page, fixture }) => {
  await page.goto("/sessions");
  await expect(page.getByRole("row").nth(2)).toBeVisible();
  for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
  await page.getByRole("button", { name: "Export…" }).click();
  const dialog = dialogOf(page);
  await expect(dialog.getByText("2 sessions", { exact: true })).toBeVisible();
  await expect(dialog.getByText("2-sessions-html.zip")).toBeVisible();
  await expect(dialog.getByLabel("From turn")).toHaveCount(0);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Export", exact: true }).click(),
  ]);
  expect(file.suggestedFilename()).toBe("2-sessions-html.zip");
  expect(new URLSearchParams(fixture.exports.asked[0]).getAll("id")).toHaveLength(2);
});

real("a hostile session that the real server gives out is harmless", async ({ page }) => {
  real.slow();
  const server = await serveSessions({ "5d1c": hostileSession() + "\n" });
  try {
    await page.goto(server.address);
    await patient(page.getByRole("table", { name: "Sessions" })).toBeVisible({ timeout: 30_000 });
    await page.goto(new URL("/sessions/5d1c", server.address).href);
    await page.getByRole("button", { name: "Export…" }).click();
    const dialog = dialogOf(page);
    await patient(dialog.getByText(".html, ")).toBeVisible({ timeout: 30_000 });
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: "Export", exact: true }).click(),
    ]);
    const written = await file.path();
    const complaints: string[] = [];
    const opened = await page.context().newPage();
    opened.on("console", (message) => complaints.push(message.text()));
    opened.on("dialog", (box) => complaints.push(box.message()));
    opened.on("request", (request) => {
      if (!request.url().startsWith("file:")) complaints.push(`asked for ${request.url()}`);
    });
    await opened.setContent("");
    await opened.route("**/exported.html", async (route) => {
      await route.fulfill({ body: await readFile(written), contentType: "text/html" });
    });
    complaints.length = 0;
    await opened.goto("http://exported.invalid/exported.html");
    await patient(opened.locator("h1").first()).toHaveText(MARKUP[0] ?? "");
    patient(complaints.filter((text) => !text.endsWith("/exported.html"))).toEqual([]);
    patient(await opened.evaluate(() => "__run" in window)).toBe(false);
  } finally {
    await stopDemo(server);
  }
});
