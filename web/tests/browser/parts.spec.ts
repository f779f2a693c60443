/** Sub-agents, branches, hooks, the sidechain, find, raw, copy, and following what grows. */

import type { Page } from "@playwright/test";

import { LONG_SESSION, PARTS } from "../fixture/archive";
import { buildAnswer, textBlock } from "../fixture/builders";
import { expect, test } from "./page";

const flowOf = (page: Page) => page.locator(".flow");

async function openParts(page: Page): Promise<void> {
  await page.goto(`/sessions/${PARTS}`);
  await flowOf(page).getByText("I’ll let somebody explore first.").waitFor();
}

const callNamed = (page: Page, text: string) => page.locator("details.call", { hasText: text }).first();

test("sub-agents open in place, one in the other, and alone", async ({ page }) => {
  await openParts(page);
  await callNamed(page, "Explore the gauge").locator("> summary").click();
  await expect(page.getByRole("region", { name: "Sub-agent Explore" })).toContainText(
    "explore found a kingfisher",
  );
  for (const next of ["deep", "deeper", "deepest"]) {
    await page
      .locator("summary", { hasText: `Start ${next}` })
      .last()
      .click();
    await expect(page.getByText(`${next} found a kingfisher`)).toBeVisible();
  }
  // A rule for each level, but indents end.
  await expect(page.locator(".nest")).toHaveCount(4);
  await expect(page.locator(".nest.flat")).toHaveCount(1);
  await page.locator(".nest .nhd").first().getByRole("link", { name: "Open alone" }).click();
  await expect(page).toHaveURL(`/sessions/${PARTS}/agents/explore`);
  await expect(page.locator(".place")).toContainText("Explore");
  await expect(flowOf(page)).toContainText("explore found a kingfisher");
  await page.getByRole("link", { name: "Whole conversation" }).click();
  await expect(flowOf(page)).toContainText("I’ll let somebody explore first.");
});

test("an address within a sub-agent opens the calls that lead to it", async ({ page }) => {
  const uuid = `deeper-file-${"2".padStart(12, "0")}`;
  await page.goto(`/sessions/${PARTS}/messages/${uuid}?source=deeper-file`);
  await expect(page.getByText("deeper found a kingfisher")).toBeInViewport();
  await expect(page.getByText("explore found a kingfisher")).toHaveCount(1);
});

test("edited prompts can be switched, by buttons and by key", async ({ page }) => {
  await openParts(page);
  await page.keyboard.press("e");
  const flow = flowOf(page);
  await expect(flow).toContainText("Answer to “Use fathoms.”");
  await expect(flow).not.toContainText("Answer to “Use feet.”");
  await page.getByRole("button", { name: "Previous branch" }).click();
  await expect(flow).toContainText("Answer to “Use metres.”");
  await expect(flow).not.toContainText("Answer to “Use fathoms.”");
  await expect(page.locator(".fork")).toContainText("2 of 3");
  await page.keyboard.press("b");
  await expect(flow).toContainText("Answer to “Use fathoms.”");
  // A turn of another branch leads into it.
  await page
    .getByRole("navigation", { name: "Turns" })
    .getByRole("link", { name: /Use feet/ })
    .click();
  await expect(flow).toContainText("Answer to “Use feet.”");
});

test("each kind of call has its own form", async ({ page }) => {
  await openParts(page);
  const open = async (text: string) => {
    const call = callNamed(page, text);
    await call.locator("> summary").click();
    return call;
  };
  const bash = await open("pytest --color=yes");
  await expect(bash.locator(".ar.bo, .bo.ar").first()).toHaveText("1 failed");
  await expect(bash.locator("pre")).toContainText("working… 100%");
  await expect(bash.locator("pre")).not.toContainText("10%\r");
  const grep = await open("2 hits in 2 files");
  await expect(grep.locator("mark")).toHaveCount(2);
  const search = await open("tide tables");
  await expect(search.locator(".web .addr")).toHaveText("https://example.org/tides?a=1&b=2");
  await expect(search.getByRole("link", { name: /example/ })).toHaveCount(0);
  const question = await open("1 question");
  await expect(question.locator("li.yes")).toContainText("Metres");
  await (await open("Plan: read the gauge")).getByRole("heading", { name: "Plan: read the gauge" }).waitFor();
  await page.getByRole("button", { name: /more call/ }).click();
  const todos = await open("Draw the curve");
  await expect(todos.locator(".segs i")).toHaveCount(3);
  await expect(todos.locator("li.now")).toContainText("Draw the curve");
  const edit = await open("+1 −1");
  await expect(edit.locator(".diff .add b")).toHaveText(", unit");
  await expect(edit.locator(".diff .k").first()).toHaveText("def");
  const mcp = await open("look_up");
  await expect(mcp.locator(".kv")).toContainText("Husum");
});

test("hooks are chips under what they ran for", async ({ page }) => {
  await openParts(page);
  await expect(page.locator(".hk", { hasText: "UserPromptSubmit" })).toContainText("38 ms");
  const bad = page.locator(".hk.bad");
  await expect(bad).toContainText("exit 2");
  await bad.click();
  await expect(page.locator(".hk-in")).toContainText("gauge.py:7: error");
  await page.keyboard.press("1");
  await expect(page.locator(".hk")).toHaveCount(0);
});

test("a change of model and a compaction are marked", async ({ page }) => {
  await openParts(page);
  await expect(page.locator(".markline").first()).toContainText("opus 4.5 → sonnet 4.5");
  await page.keyboard.press("e");
  await expect(page.locator(".cmp .bars")).toHaveText(/before\s*155 k\s*after\s*31\.0 k/);
});

test("the sidechain groups operations, loads them when opened, and goes along with the flow", async ({
  page,
  fixture,
}) => {
  await openParts(page);
  const panel = page.getByRole("complementary", { name: "Sidechain" });
  await expect(panel).toContainText("11 operations");
  const second = panel.locator("details", { hasText: "Now every kind of call" });
  const asked = () => fixture.requests.filter((path) => /sidechains\/.*2\?/.test(path)).length;
  if ((await second.getAttribute("open")) === null) {
    expect(asked()).toBe(0);
    await second.locator("summary").click();
  }
  await expect(second.locator(".op", { hasText: "Grep" })).toBeVisible();
  await second.locator(".op", { hasText: "look_up" }).click();
  await expect(page.locator("[data-current]")).toContainText("look_up");
  await expect(page.locator("[data-current] details")).toHaveAttribute("open", "");
  await expect(panel.locator(".sc.on")).toContainText("Now every kind of call");
  await panel.getByRole("button", { name: "Failed, 1" }).click();
  await expect(panel.locator("details")).toHaveCount(1);
  await panel.getByRole("button", { name: "All", exact: true }).click();
  await page.keyboard.press("s");
  await expect(panel).toBeHidden();
  await page.keyboard.press("!");
  await expect(panel.getByRole("button", { name: "Failed, 1" })).toHaveAttribute("aria-pressed", "true");
});

test("at level Prose the flow keeps only a count, which leads to the operations", async ({ page }) => {
  await openParts(page);
  await page.keyboard.press("1");
  await page.getByRole("button", { name: /10 calls/ }).click();
  await expect(page.locator(".sc.on")).toContainText("Now every kind of call");
});

test("below 1240 the sidechain is a drawer", async ({ page }) => {
  await page.setViewportSize({ width: 1100, height: 800 });
  await openParts(page);
  const panel = page.getByRole("complementary", { name: "Sidechain" });
  await expect(panel).toBeHidden();
  await page.keyboard.press("s");
  await expect(panel).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(panel).toBeHidden();
  await expect(page).toHaveURL(`/sessions/${PARTS}`);
});

test("find steps through what is folded and what is in sub-agents", async ({ page }) => {
  await openParts(page);
  await page.keyboard.press("f");
  const field = page.getByRole("searchbox", { name: "Find in this conversation" });
  await field.fill("kingfisher");
  const bar = page.getByRole("search").filter({ has: field });
  await expect(bar).toContainText("4 hits");
  await field.press("Enter");
  await expect(page.getByText("explore found a kingfisher")).toBeInViewport();
  await field.press("Enter");
  await expect(bar).toContainText("2 of 4");
  await expect(page.getByText("deep found a kingfisher")).toBeInViewport();
  await field.press("Shift+Enter");
  await expect(bar).toContainText("1 of 4");
  await field.fill("lighthouse");
  await expect(bar).toContainText("1 hit");
  await field.press("Enter");
  await expect(page.locator(".think[open]")).toContainText("lighthouse");
  await field.fill("Husum");
  await expect(bar).toContainText("1 hit");
  await field.press("Enter");
  await expect(page.locator("details.call[open]", { hasText: "look_up" }).locator(".kv")).toContainText(
    "Husum",
  );
  await field.press("Escape");
  await expect(field).toHaveCount(0);
});

test("messages, calls and turns are copied as Markdown and as links; raw lines are a key away", async ({
  page,
}) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await openParts(page);
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const said = page.locator(".sr[role=status]").last();
  await callNamed(page, "pytest --color=yes").locator("> summary").click();
  await page.keyboard.press("y");
  await expect(said).toHaveText("Markdown copied");
  expect(await clipboard()).toContain("- **Bash** `pytest --color=yes` (exit 1, 0.4 s)");
  await page.keyboard.press("Y");
  await expect(said).toHaveText("Link copied");
  const link = await clipboard();
  expect(link).toMatch(/messages\/00000000-0000-4000-8000-000000000002\?call=1$/);
  await page.getByRole("button", { name: "Copy turn" }).first().click({ force: true });
  await expect(said).toHaveText("Turn 1 copied");
  expect(await clipboard()).toContain("## You\n\nRead the tide gauge, and draw what it says.\n\n## Claude");
  await page.getByRole("button", { name: "Copy the command that resumes it" }).click();
  await expect(said).toHaveText("Command copied");
  expect(await clipboard()).toBe("claude --resume x");
  await page.keyboard.press("r");
  await expect(page.getByRole("dialog", { name: "Raw lines" })).toContainText('"uuid"');
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: "Raw lines" })).toHaveCount(0);
  await page.goto(link);
  await expect(page.locator("[data-current] details.call")).toHaveAttribute("open", "");
});

test("a conversation that grows is followed, until one scrolls up", async ({ page, fixture }) => {
  const grow = (from: number, count: number) => {
    fixture.append(
      LONG_SESSION,
      Array.from({ length: count }, (_, n) => buildAnswer(from + n, [textBlock(`New ${from + n}`)], 1999)),
    );
  };
  await page.goto(`/sessions/${LONG_SESSION}?at=end`);
  await expect(page.locator('[data-row^="99999-"]').first()).toBeInViewport();
  await expect.poll(() => fixture.feed.open).toBeGreaterThan(0);
  grow(100_000, 3);
  await expect(page.getByText("New 100002")).toBeInViewport();
  await page.locator(".scroll").hover();
  await page.mouse.wheel(0, -600);
  const top = page.locator('[data-row^="99997-"]').first();
  await expect(top).toBeVisible();
  const y = () => top.evaluate((element) => Math.round(element.getBoundingClientRect().top));
  // Scrolling has come to rest.
  let before = await y();
  await expect.poll(async () => before === (before = await y())).toBe(true);
  grow(100_003, 5);
  await expect(page.getByRole("button", { name: /5 new below/ })).toBeVisible();
  expect(await y()).toBe(before);
  await page.keyboard.press("e");
  await expect(page.getByText("New 100007")).toBeInViewport();
  await expect(page.getByRole("button", { name: /new below/ })).toHaveCount(0);
  grow(100_008, 1);
  await expect(page.getByText("New 100008")).toBeInViewport();
});

test("on a phone the parts are reached from the foot", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await openParts(page);
  const foot = page.locator(".ph-tabs");
  await foot.getByRole("button", { name: "Sidechain" }).click();
  await expect(page.getByRole("complementary", { name: "Sidechain" })).toBeVisible();
  await foot.getByRole("button", { name: "Sidechain" }).click();
  await foot.getByRole("button", { name: "Find" }).click();
  await expect(page.getByRole("searchbox", { name: "Find in this conversation" })).toBeFocused();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});
