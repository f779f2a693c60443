import type { Page } from "@playwright/test";

import { LONG_SESSION, SILENT, STORY } from "../fixture/archive";
import { longMessage } from "../fixture/long";
import { expect, test } from "./page";

/** Rows, glyphs, lines: all elements of the document. */
const countNodes = (page: Page) => page.evaluate(() => document.querySelectorAll("*").length);

test("a conversation is opened from the list", async ({ page }) => {
  await page.goto("/sessions");
  await page
    .getByRole("link", { name: /Strike out sailings/ })
    .first()
    .click();
  await expect(page).toHaveURL(`/sessions/${STORY}`);
  await expect(page).toHaveTitle(/Strike out sailings.* · turnlog/);
  await expect(page.getByRole("article", { name: /^You, / }).first()).toContainText(
    "The timetable of the harbour",
  );
  await expect(page.getByRole("navigation", { name: "Turns" }).getByRole("link")).toHaveCount(4);
});

test("a call opens to what went in and what came out", async ({ page }) => {
  await page.goto(`/sessions/${STORY}`);
  const call = page.locator("details.call", { hasText: "git status" });
  await expect(call.locator("pre")).toHaveCount(0);
  await call.locator("summary").click();
  await expect(call.locator("pre")).toContainText("M harbour/plan.py");
  await call.locator("summary").press("Enter");
  await expect(call.locator("pre")).toHaveCount(0);
  await expect(page.locator("details.call.bad").first()).toContainText("exit 127");
});

test("a long output is cut, and opened by lines", async ({ page }) => {
  await page.goto(`/sessions/${STORY}`);
  const call = page.locator("details.call", { hasText: "harbour/gtfs.py" }).first();
  await call.locator("summary").click();
  await expect(call.locator(".lines > span")).toHaveCount(14);
  await call.getByRole("button", { name: "Show 172 more lines" }).click();
  await expect(call.locator(".lines > span")).toHaveCount(186);
});

test("an edit is a diff", async ({ page }) => {
  await page.goto(`/sessions/${STORY}`);
  await page.getByRole("navigation", { name: "Turns" }).getByRole("link").nth(2).click();
  const edit = page.locator("details.call", { hasText: "Edit" });
  await expect(edit.locator(".pm")).toHaveText("+2 −2");
  await edit.locator("summary").click();
  await expect(edit.locator(".diff .add")).toHaveCount(2);
  await expect(edit.locator(".diff .del").first()).toContainText("if row['runs'] != '1':");
});

test("Markdown is set, and links are text with their target", async ({ page }) => {
  await page.goto(`/sessions/${STORY}`);
  const answer = page.getByRole("article").filter({ hasText: "Everything is in order" });
  await expect(answer.getByRole("cell", { name: "local_departures() converts from UTC" })).toBeVisible();
  await expect(answer.getByText("https://example.org/gtfs")).toBeVisible();
  await expect(answer.getByRole("link", { name: /format/ })).toHaveCount(0);
  await expect(answer.locator("ol > li")).toHaveCount(2);
});

test("keys move by message and by turn, open, and go back", async ({ page }) => {
  await page.goto(`/sessions/${STORY}`);
  await page.locator(".flow").getByText("I’ll look at the pending").waitFor();
  const current = page.locator("[data-current]");
  await page.keyboard.press("j");
  await expect(current).toContainText("The timetable of the harbour");
  await page.keyboard.press("j");
  await expect(current).toContainText("Thought");
  await page.keyboard.press("o");
  await expect(current.locator("details")).toHaveAttribute("open", "");
  await page.keyboard.press("k");
  await expect(current).toContainText("The timetable of the harbour");
  await page.keyboard.press("J");
  await expect(current).toContainText("Is everything all right");
  await expect(page.locator(".place")).toContainText("Turn 2");
  await page.keyboard.press("J");
  await expect(current).toContainText("Read the winter plan");
  await page.keyboard.press("K");
  await expect(current).toContainText("Is everything all right");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("next turn");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await expect(page).toHaveURL("/sessions");
});

test("keys go on from where one looks, not from a row that was left behind", async ({ page }) => {
  await page.goto(`/sessions/${LONG_SESSION}`);
  await page.locator(".flow").getByText("Prompt 1: what").first().waitFor();
  await page.keyboard.press("j");
  await expect(page.locator("[data-current]")).toContainText("Prompt 1:");
  await page.locator(".scroll").evaluate((element) => {
    element.scrollTop = element.scrollHeight / 2;
  });
  await expect(page.locator(".place")).toContainText(/Turn (9|10)\d\d/);
  await page.keyboard.press("J");
  await expect(page.locator("[data-current]")).toContainText(/Prompt (9|10)\d\d:/);
});

test("how much is shown can be chosen", async ({ page }) => {
  await page.goto(`/sessions/${STORY}`);
  await page.locator(".flow").getByText("I’ll look at the pending").waitFor();
  await page.keyboard.press("1");
  await expect(page.locator("details.call")).toHaveCount(0);
  await expect(page.getByText("2 calls Bash, Read").first()).toBeVisible();
  await page.keyboard.press("2");
  await expect(page.locator("details.call").first()).toBeVisible();
});

test("a run of many calls is folded, and says what failed in it", async ({ page }) => {
  await page.goto(`/sessions/${STORY}`);
  await page.locator(".flow").getByText("I’ll look at the pending").waitFor();
  await page.keyboard.press("e");
  const more = page.getByRole("button", { name: "8 more calls, 1 failed" });
  await expect(more).toBeVisible();
  await more.click();
  await expect(page.locator("details.call", { hasText: "part_13.py" })).toHaveCount(1);
});

test("an address of a message leads to it, at either end of a long conversation", async ({ page, fixture }) => {
  for (const index of [77_777, 5, 99_998]) {
    const message = longMessage(index);
    await page.goto(`/sessions/${LONG_SESSION}/messages/${message.uuid}`);
    const row = page.locator("[data-current]");
    await expect(row).toBeVisible();
    await expect(row).toBeInViewport();
    await expect(row).toHaveAttribute("data-row", new RegExp(`^${index}-`));
  }
  await page.goto(`/sessions/${LONG_SESSION}#m=${longMessage(60_000).uuid}`);
  await expect(page.locator("[data-current]")).toContainText("Prompt 1201");
  await expect(page).toHaveURL(new RegExp(`/messages/${longMessage(60_000).uuid}$`));
  expect(fixture.requests.filter((path) => path.includes("/timeline?")).length).toBeLessThan(20);
});

test("100,000 messages scroll with a bounded document", async ({ page, fixture }) => {
  test.slow();
  await page.goto(`/sessions/${LONG_SESSION}`);
  await page.locator(".flow").getByText("Prompt 1: what").first().waitFor();
  const scroller = page.locator(".scroll");
  let most = 0;
  for (let step = 0; step < 20; step += 1) {
    await scroller.evaluate((element) => {
      element.scrollTop += 4000;
    });
    await page.waitForTimeout(30);
    most = Math.max(most, await countNodes(page));
  }
  for (const share of [0.5, 0.9, 0.2, 1]) {
    await scroller.evaluate((element, part) => {
      element.scrollTop = element.scrollHeight * part;
    }, share);
    await expect(async () => {
      const shown = await page.locator(".fl-row").first().getAttribute("data-row", { timeout: 500 });
      expect(Math.abs(parseInt(shown ?? "", 10) / 100_000 - share)).toBeLessThan(0.02);
    }).toPass();
    most = Math.max(most, await countNodes(page));
  }
  await page.keyboard.press("e");
  await expect(page.locator('[data-row^="99999-"]').first()).toBeVisible();
  expect(most).toBeLessThan(2500);
  expect(fixture.requests.filter((path) => path.includes("/timeline?")).length).toBeLessThan(60);
});

test("what is read stays where it is while messages come in above it", async ({ page }) => {
  await page.goto(`/sessions/${LONG_SESSION}/messages/${longMessage(50_000).uuid}`);
  const row = page.locator('[data-row^="50000-"]').first();
  await expect(row).toBeInViewport();
  const scroller = page.locator(".scroll");
  // Up to the top of what is loaded, row by row.
  for (let step = 0; step < 12; step += 1) {
    const before = await readTops(page);
    await page.waitForTimeout(150);
    const after = await readTops(page);
    // A row at the edge may be folded into what comes in above it: all others are where they were.
    const moves = before.flatMap(([key, y]) =>
      after.filter(([same]) => same === key).map(([, now]) => now - y),
    );
    expect(moves.length).toBeGreaterThan(0);
    expect(Math.max(...moves.map(Math.abs))).toBeLessThan(2);
    await scroller.evaluate((element) => {
      element.scrollTop -= 700;
    });
    await page.waitForTimeout(150);
  }
});

/** The rows that are in view, each with where it is. */
function readTops(page: Page): Promise<[string, number][]> {
  return page.locator(".scroll").evaluate((scroller) => {
    const { top, bottom } = scroller.getBoundingClientRect();
    return [...scroller.querySelectorAll(".fl-row")]
      .map((row): [string, number] => [row.getAttribute("data-row") ?? "", row.getBoundingClientRect().top])
      .filter(([, y]) => y > top && y < bottom);
  });
}

test("turns can be reached from the contents, all two thousand of them", async ({ page }) => {
  await page.goto(`/sessions/${LONG_SESSION}`);
  await page.locator(".flow").getByText("Prompt 1: what").first().waitFor();
  const contents = page.getByRole("complementary", { name: "Session and turns" });
  await contents.getByRole("link", { name: /Prompt 1:/ }).waitFor();
  expect(await contents.getByRole("link").count()).toBeLessThan(60);
  await contents.evaluate((element) => {
    element.scrollTop = element.scrollHeight;
  });
  await contents.getByRole("link", { name: /Prompt 2000:/ }).click();
  await expect(page.locator("[data-current]")).toContainText("Prompt 2000");
  await page.goBack();
  await expect(page).toHaveURL(`/sessions/${LONG_SESSION}`);
});

test.describe("a session that is not there", () => {
  test("says so, with a way on", async ({ page, expected }) => {
    expected.push(/404/);
    await page.goto("/sessions/nowhere");
    await expect(page.getByRole("alert")).toContainText("There is no such session.");
    await page.getByRole("link", { name: "All sessions" }).click();
    await expect(page).toHaveURL("/sessions");
  });
  test("and a message that is not there shows the conversation", async ({ page, expected }) => {
    expected.push(/404/);
    await page.goto(`/sessions/${STORY}/messages/ffffffff-0000-4000-8000-ffffffffffff`);
    await expect(page.getByRole("alert")).toContainText("That message is not here.");
    await expect(page.getByRole("article", { name: /^You, / }).first()).toBeVisible();
  });
});

test("what cannot be loaded is told, and what is there stays", async ({ page, fixture, expected }) => {
  expected.push(/500/);
  await page.goto(`/sessions/${LONG_SESSION}`);
  await page.locator(".flow").getByText("Prompt 1: what").first().waitFor();
  fixture.failing = 500;
  await page.keyboard.press("e");
  await expect(page.getByRole("alert")).toContainText("Something is broken.");
  fixture.failing = null;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator('[data-row^="99999-"]').first()).toBeVisible();
});

test("a session in which nothing was said says so", async ({ page }) => {
  await page.goto(`/sessions/${SILENT}`);
  await expect(page.getByText("This session has no messages.")).toBeVisible();
});
