import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { AxeResults } from "axe-core";

import { HOSTILE, PARTS, STORY } from "../fixture/archive";
import { MARKUP } from "../fixture/hostile";
import { expect, test } from "./page";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("the theme goes round, and is there again before the first paint", async ({ page }) => {
  await page.goto("/sessions");
  const root = page.locator("html");
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(await paper()).toBe("rgb(251, 250, 247)");
  await page.getByRole("button", { name: "Theme: by system" }).click();
  await expect(root).toHaveAttribute("data-theme", "light");
  await page.getByRole("button", { name: "Theme: light" }).click();
  await expect(root).toHaveAttribute("data-theme", "dark");
  expect(await paper()).toBe("rgb(19, 20, 22)");
  await page.reload();
  await expect(root).toHaveAttribute("data-theme", "dark");
  await page.getByRole("button", { name: "Theme: dark" }).click();
  await expect(root).not.toHaveAttribute("data-theme");
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await paper()).toBe("rgb(19, 20, 22)");
});

test("a server that goes away is told, and comes back by itself", async ({ page, fixture, expected }) => {
  expected.push(/ERR_CONNECTION|Failed to load/);
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await fixture.stop();
  await page
    .getByRole("link", { name: /Strike out sailings/ })
    .first()
    .click();
  await expect(page.getByText("The server went away.")).toBeVisible();
  await fixture.start();
  await expect(page.getByText("The server went away.")).toHaveCount(0, { timeout: 15_000 });
  await expect(page.getByRole("article", { name: /^You, / }).first()).toBeVisible();
});

test("a browser that is not let in learns how to get in", async ({ page, fixture, expected }) => {
  expected.push(/401/);
  fixture.failing = 401;
  await page.goto("/sessions");
  await expect(page.getByText("This browser has no access.")).toBeVisible();
});

test("a failing server is told, and can be asked again", async ({ page, fixture, expected }) => {
  expected.push(/500/);
  fixture.failing = 500;
  await page.goto("/sessions");
  await expect(page.getByRole("alert")).toContainText("Something is broken.");
  fixture.failing = null;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("One hundred thousand")).toBeVisible();
});

test("the content can be skipped to", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.locator("main")).toBeFocused();
});

test("an address that leads nowhere says so", async ({ page }) => {
  await page.goto("/nowhere");
  await expect(page.getByText("There is no such page.")).toBeVisible();
});

test("hostile text stays text: nothing runs, nothing is asked for, nothing hides", async ({
  page,
  fixture,
}) => {
  await page.goto("/sessions");
  await expect(page.getByText("<script>window.__run = 0</script> a hostile one")).toBeVisible();
  await page.goto(`/sessions/${HOSTILE}`);
  await expect(page.getByRole("article").first()).toContainText(MARKUP[1] ?? "");
  await page.keyboard.press("3");
  const seen = new Set<string>();
  // Everything is opened and passed by.
  for (let step = 0; step < 60; step += 1) {
    await page.evaluate(() => {
      for (const summary of document.querySelectorAll<HTMLElement>("details:not([open]) > summary"))
        summary.click();
      for (const button of document.querySelectorAll<HTMLElement>(".said-more")) button.click();
    });
    for (const key of await page
      .locator(".fl-row")
      .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-row") ?? ""))) {
      seen.add(key);
    }
    const end = await page.locator(".scroll").evaluate((element) => {
      const before = element.scrollTop;
      element.scrollTop += 600;
      return element.scrollTop === before;
    });
    if (end) break;
    await page.waitForTimeout(60);
  }
  expect(seen.size).toBeGreaterThanOrEqual(14);
  expect(await page.evaluate(() => (window as { __run?: number }).__run)).toBeUndefined();
  expect(fixture.requests.filter((path) => /stolen|evil/.test(path))).toEqual([]);
  const made = await page.locator(".flow").evaluate((flow) => ({
    elements: flow.querySelectorAll(
      "script, iframe, style, object, embed, form, img, [onerror], [onload], [style*=expression]",
    ).length,
    targets: [...flow.querySelectorAll("a[href]")]
      .map((link) => link.getAttribute("href") ?? "")
      .filter((href) => !href.startsWith("/api/sessions/")),
  }));
  expect(made).toEqual({ elements: 0, targets: [] });
});

test("direction marks and terminal escapes are shown for what they are", async ({ page }) => {
  await page.goto(`/sessions/${HOSTILE}`);
  const call = page.locator("details.call", { hasText: "access" });
  await call.locator("summary").click();
  await expect(call.locator("summary .arg")).toContainText("access⟨U+202E⟩⟨U+2066⟩// check if admin");
  await expect(call.locator("pre").last()).toContainText("red link");
  await expect(page).toHaveTitle(/hostile one/);
});

for (const scheme of ["light", "dark"] as const) {
  for (const [name, path, width] of [
    ["sessions", "/sessions", 1440],
    ["a conversation", `/sessions/${STORY}`, 1440],
    ["every kind of call", `/sessions/${PARTS}`, 1440],
    ["sessions on a phone", "/sessions", 390],
    ["a conversation on a phone", `/sessions/${STORY}`, 390],
  ] as const) {
    test(`axe finds nothing in ${name}, ${scheme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 844 });
      await page.goto(path);
      await page.locator(".s-row, .fl-row").first().waitFor();
      for (const summary of await page.locator("details:not([open]) > summary").all())
        await summary.click({ timeout: 1000 }).catch(() => null);
      // Evaluated, not added as a script: the page's policy would not let it in.
      await page.evaluate(AXE);
      const found = await page.evaluate(async () => {
        const { axe } = window as unknown as { axe: { run: (how: object) => Promise<AxeResults> } };
        // Rows come and go as one scrolls, so a heading of an answer may stand there without the one above it.
        const { violations } = await axe.run({ rules: { "heading-order": { enabled: false } } });
        return violations.map(
          (violation) =>
            `${violation.id}: ${violation.nodes
              .map((node) => node.html.slice(0, 160))
              .slice(0, 3)
              .join(" | ")}`,
        );
      });
      expect(found).toEqual([]);
    });
  }
}

test("on a phone nothing is wider than the screen, and turns are a drawer", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`/sessions/${STORY}`);
  await page.locator(".flow").getByText("I’ll look at the pending").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await expect(page.getByRole("navigation", { name: "Turns" })).toBeHidden();
  await page.locator(".ph-tabs").getByRole("button", { name: "Turns" }).click();
  await page.getByRole("navigation", { name: "Turns" }).getByRole("link").nth(2).click();
  await expect(page.getByRole("navigation", { name: "Turns" })).toBeHidden();
  await expect(page.locator("[data-current]")).toContainText("Read the winter plan");
  await page.getByRole("link", { name: "Back to sessions" }).click();
  await expect(page).toHaveURL("/sessions");
});

test("the key line can be hidden, and stays so", async ({ page }) => {
  await page.goto("/sessions");
  await expect(page.locator(".keys")).toContainText("move");
  await page.keyboard.press("h");
  await expect(page.locator(".keys")).toHaveCount(0);
  await page.reload();
  await page.getByText("One hundred thousand").waitFor();
  await expect(page.locator(".keys")).toHaveCount(0);
});

test("the top bar tells how reading goes, and what has come in is shown by itself", async ({
  page,
  fixture,
}) => {
  fixture.sync = { phase: "syncing", done: 12, total: 40 };
  await page.goto("/sessions");
  await expect(page.locator(".pulse")).toHaveText("Reading 12 of 40");
  const [first] = fixture.sessions;
  if (!first) throw new Error("no session");
  fixture.sessions = [{ ...first, key: "s-new", title: "Just begun" }, ...fixture.sessions];
  fixture.changes += 1;
  fixture.sync = { phase: "watching" };
  await expect(page.getByText("Just begun")).toBeVisible();
  await expect(page.locator(".pulse")).toHaveText("Listening");
});
