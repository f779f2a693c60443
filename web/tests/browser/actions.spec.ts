import { readFile } from "node:fs/promises";

import type { Page } from "@playwright/test";

import { STORY } from "../fixture/archive";
import { buildAction, buildDay } from "../fixture/actions";
import { findViolations } from "./axe";
import { expect, test } from "./page";

const PATH = `/actions/${STORY}`;
const rows = (page: Page) => page.locator(".al-row");

test("a session is chosen first, and the address carries it", async ({ page }) => {
  await page.goto("/actions");
  await expect(page).toHaveTitle("Action log · turnlog");
  await page.getByRole("searchbox", { name: "Find a session" }).fill("one hundred");
  await page.getByRole("link", { name: /One hundred thousand/ }).click();
  await expect(page).toHaveURL("/actions/s-long");
  await page.getByTitle("Choose another session").click();
  await expect(page).toHaveURL("/actions");
});

test("every action has its category, its outcome and its time, under its turn", async ({ page }) => {
  await page.goto(PATH);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Action log 18 actions");
  const edit = rows(page).filter({ hasText: "harbour/timetable.py" });
  await expect(edit).toContainText("Built-in");
  await expect(edit).toContainText("+6 −3");
  await expect(edit).toContainText("110 ms");
  await expect(page.getByRole("rowheader", { name: /^Turn 2/ })).toBeVisible();
  await expect(page.locator(".al-turn").first()).toContainText("17 actions · 3 failed");
  await expect(rows(page).filter({ hasText: "npm run dev" })).toContainText("no result in the file");
  await expect(page.getByRole("img", { name: "20 actions over time, 3 failed" })).toBeVisible();
});

test("categories, outcome, tool and length narrow it down, and stand in the address", async ({ page }) => {
  await page.goto(PATH);
  const heading = page.getByRole("heading", { level: 1 });
  const system = page.getByRole("button", { name: "System 1" });
  await expect(system).toHaveAttribute("aria-pressed", "false");
  await system.click();
  await expect(heading).toHaveText("Action log 19 actions");
  await expect(page).toHaveURL(/off=hook_progress$/);
  await page.getByLabel("Outcome").selectOption("failed");
  await expect(rows(page)).toHaveCount(3);
  await page.reload();
  await expect(rows(page)).toHaveCount(3);
  await expect(page.getByRole("button", { name: "System 1" })).toHaveAttribute("aria-pressed", "true");
  await page.getByLabel("Tool").selectOption("Bash");
  await expect(rows(page)).toHaveCount(1);
  await page.getByLabel("Outcome").selectOption("");
  await page.getByLabel("Longer than").selectOption("1000");
  await expect(rows(page)).toHaveCount(3);
  await page.getByLabel("Longer than").selectOption("300000");
  await expect(page.getByText("No actions match.")).toBeVisible();
  await page.getByRole("button", { name: "Show all actions" }).click();
  await expect(heading).toHaveText("Action log 20 actions");
  await page.getByRole("button", { name: "Slowest first" }).click();
  await expect(rows(page).first()).toContainText("1 m 52 s");
  await expect(page.locator(".al-turn")).toHaveCount(0);
});

test("keys move, filter and open the message", async ({ page }) => {
  await page.goto(PATH);
  await rows(page).first().waitFor();
  for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
  const current = page.locator(".al-row[aria-current]");
  await expect(current).toContainText("UserPromptSubmit");
  await page.keyboard.press("!");
  await expect(rows(page)).toHaveCount(3);
  await page.keyboard.press("!");
  await page.keyboard.press("2");
  await expect(page.getByRole("button", { name: "Agent 1" })).toHaveAttribute("aria-pressed", "false");
  await page.keyboard.press("o");
  await page.keyboard.press("3");
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toContainText("get-library-docs");
  await page.keyboard.press("o");
  await page.keyboard.press("3");
  await expect(page.locator(".al-turn").first()).toBeVisible();
  await page.keyboard.press("t");
  await expect(page.locator(".al-turn")).toHaveCount(0);
  await page.keyboard.press("j");
  await expect(page.locator(".al-row[aria-current] a")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/sessions/${STORY}/messages/00000000-`));
  await page.goBack();
  await expect(page).toHaveURL(new RegExp(PATH));
});

test("what happens now is shown now", async ({ page, fixture }) => {
  const day = buildDay();
  const running = buildAction(20, {
    state: "running",
    outcome: "",
    duration_ms: null,
    turn: 2,
    title: "make all",
  });
  fixture.actions.set(STORY, [...day, { ...running, at: new Date().toISOString() }]);
  await page.goto(PATH);
  const row = rows(page).filter({ hasText: "make all" });
  await expect(row).toContainText("running");
  await expect.poll(() => fixture.feed.open).toBe(1);
  fixture.actions.set(STORY, [
    ...day,
    { ...running, state: "failed", outcome: "exit 2", duration_ms: 4100 },
    buildAction(21, { turn: 2, title: "cat make.log" }),
  ]);
  fixture.change(STORY);
  await expect(row).toContainText("exit 2");
  await expect(row).toContainText("4.1 s");
  await expect(rows(page).filter({ hasText: "cat make.log" })).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Action log 20 actions");
});

test("all that is asked for comes as CSV, and nothing in it is a formula", async ({ page, fixture }) => {
  const many = Array.from({ length: 450 }, (_, n) => buildAction(n));
  fixture.actions.set(STORY, [...many, buildAction(450, { title: '=HYPERLINK("http://evil", "x")' })]);
  await page.goto(PATH);
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toBe(`actions-${STORY}.csv`);
  const text = await readFile(await download.path(), "utf8");
  const lines = text.trimEnd().split("\r\n");
  expect(lines).toHaveLength(452);
  expect(lines[0]).toMatch(/^at,category,name,title,outcome,state,duration_ms,turn/);
  expect(lines.at(-1)).toContain(`"'=HYPERLINK(""http://evil"", ""x"")"`);
});

test("of 100,000 actions few are in the document, and more come as one scrolls", async ({ page, fixture }) => {
  fixture.actions.set(
    STORY,
    Array.from({ length: 100_000 }, (_, n) => buildAction(n)),
  );
  await page.goto(PATH);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Action log 100,000 actions");
  expect(await rows(page).count()).toBeLessThan(80);
  await page.locator("main").evaluate((main) => {
    main.scrollTop = 60_000;
  });
  await expect(
    rows(page)
      .filter({ hasText: /echo 2\d\d\d/ })
      .first(),
  ).toBeVisible({ timeout: 40_000 });
  expect(await rows(page).count()).toBeLessThan(80);
});

test("hostile text stays text", async ({ page, fixture }) => {
  const evil = "<svg onload='window.__run=1'>";
  fixture.actions.set(STORY, [
    buildAction(0, {
      name: evil,
      title: `\u202e${evil}${"z".repeat(9000)}`,
      outcome: `${evil}\u001b[31m`,
      state: "failed",
    }),
  ]);
  await page.goto(PATH);
  await expect(rows(page)).toContainText(`⟨U+202E⟩${evil}`);
  expect(await page.locator(".al-row svg[onload], .al-row script").count()).toBe(0);
  expect(await page.evaluate(() => (window as { __run?: number }).__run)).toBeUndefined();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(1440);
});

test("a log that cannot be loaded says so, and can be asked for again", async ({ page, fixture, expected }) => {
  expected.push(/500/);
  fixture.failing = 500;
  await page.goto(PATH);
  await expect(page.getByRole("alert").first()).toContainText("Something is broken.");
  fixture.failing = null;
  await page.getByRole("button", { name: "Try again" }).first().click();
  await expect(rows(page).first()).toBeVisible();
});

for (const scheme of ["light", "dark"] as const) {
  for (const [name, path, width] of [
    ["the action log", PATH, 1440],
    ["the action log on a phone", PATH, 390],
    ["choosing a session", "/actions", 1100],
  ] as const) {
    test(`axe finds nothing in ${name}, ${scheme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 900 });
      await page.goto(path);
      await page.locator(".al-row, .al-choose li").first().waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(await findViolations(page)).toEqual([]);
    });
  }
}
