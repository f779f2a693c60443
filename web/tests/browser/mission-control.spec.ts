import type { Page } from "@playwright/test";

import { buildCard, buildCards } from "../fixture/board";
import { iso } from "../fixture/builders";
import { findAfternoon } from "./afternoon";
import { findViolations } from "./axe";
import { expect, test } from "./page";

const card = (page: Page, name: string) => page.getByRole("article", { name });
const column = (page: Page, name: string) => page.getByRole("region", { name });

test.use({ timezoneId: findAfternoon() });

test.beforeEach(({ fixture }) => {
  fixture.cards = buildCards(Date.now());
});

test("the board says who needs you and why, who works, and who is done", async ({ page }) => {
  await page.goto("/mission-control");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(
    "Two sessions need you. Four are working, five are done today.",
  );
  await expect(page).toHaveTitle("2 need you · Mission control · turnlog");
  await expect(page.locator(".pulse")).toContainText("2 need you");
  await expect(page.locator(".pulse")).toContainText("4 working");
  const [first, second] = await column(page, "Needs you").getByRole("article").all();
  if (!first || !second) throw new Error("no cards");
  await expect(first).toContainText("Asks to run a command");
  await expect(first).toContainText("git push --force-with-lease origin feat/winter-plan");
  await expect(first).toContainText(/waits 6 m \d\d s/);
  await expect(first.getByRole("meter", { name: "Context" })).toHaveAttribute("aria-valuenow", "86");
  await expect(second).toContainText("How should broken rows be reported");
  await expect(second).toContainText("Marker row");
  await expect(column(page, "Working").getByRole("article")).toHaveCount(4);
  await expect(card(page, "Draw depth lines")).toContainText("code-reviewer");
  await expect(column(page, "Done today")).toContainText("stopped: rate limit after 10 retries");
  await expect(page.getByRole("region", { name: "The last three hours" })).toContainText("38 m in total today");
});

test("a card moves when its session does", async ({ page, fixture }) => {
  await page.goto("/mission-control");
  await expect.poll(() => fixture.feed.open).toBe(1);
  await expect(column(page, "Working").getByRole("article")).toHaveCount(4);
  fixture.deliver("b-edit", {
    column: "needs_you",
    why: "plan",
    detail: "Light it by the sun",
    since: iso(Date.now()),
  });
  await expect(page.getByRole("heading", { level: 1 })).toContainText(
    "Three sessions need you. Three are working",
  );
  await expect(column(page, "Needs you").getByRole("article").last()).toContainText(
    "Asks you to approve a plan",
  );
  await expect(page).toHaveTitle(/^3 need you/);
  await expect(page.locator(".pulse")).toContainText("3 need you");
  fixture.deliver("b-edit", {
    column: "done",
    why: "turn_ended",
    since: iso(Date.now()),
    last_at: iso(Date.now()),
  });
  await expect(column(page, "Done today").getByRole("article").first()).toContainText("Light the lamp");
  await expect(column(page, "Done today").getByRole("article").first()).toContainText("just now");
});

test("time runs without the cards being drawn again", async ({ page }) => {
  await page.goto("/mission-control");
  const waits = card(page, "Strike out sailings").locator("time").first();
  const before = await waits.textContent();
  await card(page, "Strike out sailings").evaluate((element) => {
    element.dataset["mark"] = "same";
    new MutationObserver((records) => {
      const out = records.filter((record) => !(record.target.parentElement?.closest("time") ?? null));
      if (out.length > 0) element.dataset["redrawn"] = "yes";
    }).observe(element, { subtree: true, childList: true, characterData: true });
  });
  await expect(waits).not.toHaveText(before ?? "");
  await expect(card(page, "Strike out sailings")).toHaveAttribute("data-mark", "same");
  expect(await card(page, "Strike out sailings").getAttribute("data-redrawn")).toBeNull();
});

test("keys go through cards and columns, find who waits, and open where it waits", async ({
  page,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/mission-control");
  await card(page, "Strike out sailings").waitFor();
  const current = page.locator("article.at");
  await page.keyboard.press("j");
  await expect(current).toContainText("Strike out sailings");
  await page.keyboard.press("j");
  await expect(current).toContainText("Report broken rows");
  await page.keyboard.press("l");
  await expect(current).toContainText("Light the lamp");
  await page.keyboard.press("l");
  await expect(current).toContainText("Refresh the price table");
  await page.keyboard.press("h");
  await page.keyboard.press("n");
  await expect(current).toContainText("Strike out sailings");
  await page.keyboard.press("n");
  await expect(current).toContainText("Report broken rows");
  await page.keyboard.press("r");
  await expect(page.getByRole("status").filter({ hasText: "copied" })).toBeAttached();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("claude --resume b-ask");
  await page.keyboard.press("k");
  await expect(current.getByRole("link")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL("/sessions/s-story?at=end");
});

test("by project, and the address remembers it", async ({ page }) => {
  await page.goto("/mission-control");
  await page.getByRole("button", { name: "Project", exact: true }).click();
  await expect(page).toHaveURL("/mission-control?by=project");
  await expect(column(page, "tide-gauge").getByRole("article")).toHaveCount(3);
  await page.reload();
  await expect(column(page, "tide-gauge").getByRole("article")).toHaveCount(3);
});

test("nothing to see says what will be here, and is gone as soon as there is something", async ({
  page,
  fixture,
}) => {
  fixture.cards = [];
  await page.goto("/mission-control");
  await expect(page.getByRole("heading", { name: "Nothing is running." })).toBeVisible();
  await expect(page.getByText("turnlog hooks install")).toBeVisible();
  await expect.poll(() => fixture.feed.open).toBe(1);
  fixture.cards = [buildCard(Date.now(), { session_id: "b-new", title: "Just begun" })];
  fixture.deliver("b-new", {});
  await expect(card(page, "Just begun")).toBeVisible();
});

test("on every other page one is told, and led there", async ({ page, fixture }) => {
  const known = page.waitForResponse((answer) => answer.url().endsWith("/api/mission-control"));
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  // What waits in the first answer has waited before; what comes later is told by the stream.
  await known;
  await expect.poll(() => fixture.feed.open).toBe(1);
  const toast = page.locator(".toast");
  await expect(toast).toHaveCount(0);
  const wait = { column: "needs_you", why: "question", detail: "Which one?" } as const;
  fixture.deliver("b-edit", { ...wait, since: iso(Date.now() + 1000) });
  await expect(toast).toContainText("lamp-keeper asks a question");
  fixture.deliver("b-edit", { column: "working", why: null });
  await expect(toast).toHaveCount(0);
  fixture.deliver("b-edit", { ...wait, since: iso(Date.now() + 2000) });
  await expect(toast).toBeVisible();
  await page.keyboard.press("n");
  await expect(page).toHaveURL("/sessions/s-5?at=end");
  await expect(toast).toHaveCount(0);
});

test("a session of which only hooks have told is shown, but there is nothing to open", async ({
  page,
  fixture,
}) => {
  const id = "5f3c2a10-0000-4000-8000-00000000aaaa";
  fixture.cards = [buildCard(Date.now(), { session_id: id, key: id, title: null, turns: 0 })];
  await page.goto("/mission-control");
  const only = card(page, "Session 5f3c2a10");
  await expect(only).toContainText("its file is not archived yet");
  await expect(only.getByRole("link")).toHaveCount(0);
  await page.keyboard.press("j");
  await expect(page.locator("article.at")).toHaveCount(1);
});

test.describe("being told", () => {
  const listen = (page: Page) =>
    page.addInitScript(() => {
      const shown: string[] = [];
      class Told {
        static permission = localStorage.getItem("test.permission") ?? "default";
        static requestPermission() {
          Told.permission = "granted";
          localStorage.setItem("test.permission", "granted");
          return Promise.resolve("granted");
        }
        onclick: (() => void) | null = null;
        constructor(title: string, options: NotificationOptions) {
          shown.push(`${title} / ${options.body ?? ""}`);
        }
        close() {
          return undefined;
        }
      }
      Object.assign(window, { Notification: Told, shown });
    });
  const shownIn = (page: Page) => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
  const wait = { column: "needs_you", why: "permission", detail: "rm -rf build" } as const;

  test("is asked for first, remembered, told once by all tabs, and off again", async ({
    page,
    context,
    fixture,
  }) => {
    await listen(page);
    await page.goto("/mission-control");
    const button = page.getByRole("button", { name: "Tell me when one starts to wait" });
    await expect(button).toHaveAttribute("aria-pressed", "false");
    await expect.poll(() => fixture.feed.open).toBe(1);
    fixture.deliver("b-write", { ...wait, since: iso(Date.now() + 1000) });
    await expect(page.getByRole("heading", { level: 1 })).toContainText("Three sessions need you.");
    expect(await shownIn(page)).toEqual([]);

    await button.click();
    await expect(button).toHaveAttribute("aria-pressed", "true");
    const other = await context.newPage();
    await listen(other);
    await other.goto("/mission-control");
    await expect(other.getByRole("button", { name: "Tell me" })).toHaveAttribute("aria-pressed", "true");
    fixture.deliver("b-test", { ...wait, since: iso(Date.now() + 2000) });
    await expect(other.getByRole("heading", { level: 1 })).toContainText("Four sessions need you.");
    await expect.poll(() => shownIn(page)).toEqual(["tide-gauge: asks to run a command / rm -rf build"]);
    expect(await shownIn(other)).toEqual([]);

    await other.getByRole("button", { name: "Tell me" }).click();
    await expect(button).toHaveAttribute("aria-pressed", "false");
    fixture.deliver("b-edit", { ...wait, since: iso(Date.now() + 3000) });
    await expect(page.getByRole("heading", { level: 1 })).toContainText("Five sessions need you.");
    expect(await shownIn(page)).toHaveLength(1);
  });

  test("what config.toml says is shown, and can be tested", async ({ page, fixture }) => {
    fixture.notifications = {
      desktop: true,
      on: ["waits"],
      webhooks: [{ url: "https://hooks.example/turnlog", on: ["waits", "ends"] }],
    };
    await page.goto("/mission-control");
    await page.getByRole("button", { name: "More notifications" }).click();
    const sheet = page.getByRole("dialog", { name: "Notifications" });
    await expect(sheet).toContainText("https://hooks.example/turnlog when a session starts to wait or ends");
    await sheet.getByRole("button", { name: "Send a test" }).click();
    await expect(sheet).toContainText("desktop arrived");
    await expect(sheet).toContainText("failed: no answer in 5 s");
    await page.keyboard.press("Escape");
    await expect(sheet).toBeHidden();
  });
});

test("hostile text stays text", async ({ page, fixture }) => {
  const evil = "<img src=x onerror='window.__run=1'>";
  fixture.cards = [
    buildCard(Date.now(), {
      session_id: "b-evil",
      title: `${evil} \u202egnp.exe`,
      git_branch: evil,
      project: `/home/${evil}`,
      column: "needs_you",
      why: "permission",
      detail: `echo safe \u2066# ${evil}\n${"x".repeat(5000)}`,
      step: { tool_name: `mcp__${evil}__y`, title: evil, since: null, call_id: null },
    }),
    buildCard(Date.now(), {
      session_id: "b-asks",
      title: "Asks",
      column: "needs_you",
      why: "question",
      detail: `[click](javascript:window.__run=1) ${evil}`,
      options: [evil, "\u202eno", "y".repeat(400)],
    }),
  ];
  await page.goto("/mission-control");
  await expect(page.locator('[data-card="b-evil"] h3')).toContainText("<img src=x");
  await expect(page.locator('[data-card="b-evil"] h3')).toContainText("⟨U+202E⟩gnp.exe");
  await expect(page.locator('[data-card="b-evil"] .why')).toContainText("⟨U+2066⟩#");
  expect(await page.locator("main img, main script, main a[href^=javascript]").count()).toBe(0);
  expect(await page.evaluate(() => (window as { __run?: number }).__run)).toBeUndefined();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(1440);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});

test("on a phone the cards stand under each other", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/mission-control");
  await card(page, "Strike out sailings").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await expect(page.getByRole("region", { name: "The last three hours" })).toBeHidden();
  await card(page, "Count gulls").scrollIntoViewIfNeeded();
  await card(page, "Count gulls").getByRole("link").click();
  await expect(page).toHaveURL("/sessions/s-8?at=end");
});

for (const scheme of ["light", "dark"] as const) {
  for (const [name, path, width] of [
    ["the board", "/mission-control", 1440],
    ["the board by project", "/mission-control?by=project", 1100],
    ["the board on a phone", "/mission-control", 390],
  ] as const) {
    test(`axe finds nothing in ${name}, ${scheme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 900 });
      await page.goto(path);
      await card(page, "Strike out sailings").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "More notifications" }).click();
      await page.getByText("config.toml").waitFor();
      expect(await findViolations(page)).toEqual([]);
    });
  }
}
