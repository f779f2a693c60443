import { readFile } from "node:fs/promises";

import { formatExact, parseMoney } from "@/lib/decimal";
import { dayIn, formatDay, formatLongDay, shiftDay } from "@/lib/zones";

import { buildUsage } from "../fixture/usage";
import { findViolations, widthOf } from "./axe";
import { expect, test } from "./page";
import { patient, slowDown } from "./slow";

const report = (query: string) => buildUsage(new URLSearchParams(query), new Date());

test("one number, what is uncertain about it, and what is left of the block", async ({ page }) => {
  await page.goto("/usage?range=all");
  const total = report("").total;
  await expect(page.getByRole("heading", { level: 1 })).toContainText(
    `≥${formatExact(parseMoney(total.cost_usd))}`,
  );
  const short = page.getByRole("region", { name: "Summary" });
  await expect(short).toContainText("recorded before their end, so output and cost are a floor");
  await expect(short).toContainText("of glm-5 have no known price and are not in the cost");
  await expect(short).toContainText("Claude Code’s own count to the cent for 1 session of the 2");
  await expect(short).toContainText("2 h 50 m left");
  await expect(short).toContainText("about $65.43 by");
  await expect(page.getByRole("meter")).toHaveAttribute("aria-valuenow", "130");
});

test("ranges, measure, project and zone stand in the address", async ({ page, fixture }) => {
  await page.goto("/usage");
  await page.getByRole("button", { name: "7 days" }).click();
  await expect(page).toHaveURL("/usage?range=7d");
  await page.getByRole("button", { name: "Tokens", exact: true }).click();
  await page.getByLabel("Time zone").selectOption("Asia/Tokyo");
  await page.getByRole("combobox", { name: "Project" }).selectOption({ index: 1 });
  await expect(page).toHaveURL(/range=7d&measure=tokens&project=.*&zone=Asia%2FTokyo/);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("tokens in 7 days");
  await expect
    .poll(() => fixture.requests.some((path) => path.includes("timezone=Asia%2FTokyo&project=")))
    .toBe(true);
  await page.reload();
  await expect(page.getByLabel("Time zone")).toHaveValue("Asia/Tokyo");
  for (let n = 0; n < 4; n += 1) await page.goBack();
  await expect(page).toHaveURL("/usage");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("in 30 days");
});

const DAY_MS = 24 * 3_600_000;

test("where the last 30 days have no answers, it opens on those up to the last one and says so", async ({
  page,
}) => {
  const then = new Date(Date.now() - 90 * DAY_MS);
  await page.route("**/api/usage?*", (route) =>
    route.fulfill({ json: buildUsage(new URL(route.request().url()).searchParams, then) }),
  );
  await page.goto("/usage");
  const short = page.getByRole("region", { name: "Summary" });
  const { available } = buildUsage(new URLSearchParams({ since: dayIn("UTC", new Date()) }), then);
  const last = available?.until ?? "";
  await expect(short).toContainText("There are no answers in the last 30 days.");
  await expect(short).toContainText(`the 30 days up to the last one, on ${formatLongDay(last)}.`);
  const since = shiftDay(last, -29);
  const { total } = buildUsage(new URLSearchParams({ since, until: last }), then);
  await expect(page.getByRole("heading", { level: 1 })).toContainText(
    `${formatExact(parseMoney(total.cost_usd))}from ${formatDay(since)} to ${formatDay(last)}`,
  );
  await expect(page.getByRole("group", { name: "Range" }).getByRole("button", { pressed: true })).toHaveCount(
    0,
  );
  expect(await findViolations(page)).toEqual([]);
  // Nothing of it stands in the address, and a range that somebody chose is kept, empty as it is.
  await expect(page).toHaveURL("/usage");
  await page.getByRole("button", { name: "30 days" }).click();
  await expect(page).toHaveURL("/usage?range=30d");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("in 30 days");
  await expect(short).toContainText("0 answers");
  await page.reload();
  await expect(short).toContainText("0 answers");
  await page.goBack();
  await expect(short).toContainText("There are no answers in the last 30 days.");
});

test("every plot has a title, a description and a table with the same figures", async ({ page }) => {
  await page.goto("/usage?range=all");
  const plots = page.getByRole("img");
  await expect(plots).toHaveCount(2);
  await expect(page.getByRole("img", { name: /^Cost by day/ })).toBeVisible();
  for (const plot of await plots.all()) {
    await expect(plot.locator("title").first()).not.toBeEmpty();
    await expect(plot.locator("desc")).not.toBeEmpty();
  }
  await page.keyboard.press("t");
  await expect(page).toHaveURL(/tables=true/);
  const days = page.getByRole("table", { name: "Cost by day" });
  const rows = report("by=daily&breakdown=model").rows.filter((row) => parseMoney(row.cost_usd) > 0n);
  await expect(days.getByRole("row")).toHaveCount(rows.length + 1);
  await expect(days.getByRole("row").nth(1).getByRole("cell").last()).toHaveText(
    formatExact(parseMoney(rows.at(-1)?.cost_usd ?? "0")),
  );
  for (const name of ["Every day of the year", "5-hour blocks", "By model", "By project", "By tool"])
    await expect(page.getByRole("table", { name })).toBeVisible();
});

test("it can be divided by session, which leads to the session", async ({ page }) => {
  await page.goto("/usage");
  await page.getByRole("button", { name: "Session", exact: true }).click();
  await expect(page).toHaveURL("/usage?by=session");
  await page
    .getByRole("link", { name: /Session number/ })
    .first()
    .click();
  await expect(page).toHaveURL(/\/sessions\/s-\d+$/);
});

test("arrows go from day to day, and Enter to the sessions of one", async ({ page }) => {
  await page.goto("/usage");
  await expect(page.getByRole("img", { name: /^Cost by day/ })).toBeVisible();
  const tip = page.locator(".tip");
  await page.keyboard.press("ArrowLeft");
  await expect(tip).toContainText("$");
  const today = await tip.locator("b").textContent();
  await page.keyboard.press("ArrowLeft");
  await expect(tip.locator("b")).not.toHaveText(today ?? "");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/sessions\?since=\d{4}-\d{2}-\d{2}&until=/);
});

test("CSV has every figure, digit for digit, and no formulas", async ({ page }) => {
  await page.goto("/usage?range=all");
  await expect(page.getByRole("img", { name: /^Cost by day/ })).toBeVisible();
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV", exact: true }).click();
  const text = await readFile(await (await waiting).path(), "utf8");
  const rows = report("by=daily&breakdown=model").rows.flatMap((row) =>
    row.breakdown.map((part) => part.cost_usd),
  );
  const lines = text.trimEnd().split("\r\n");
  expect(lines[0]).toMatch(/^day,model,messages,input/);
  expect(lines).toHaveLength(rows.length + 1);
  expect(lines.slice(1).map((line) => line.split(",")[10])).toEqual(rows);
});

test("hostile names stay text", async ({ page }) => {
  await page.goto("/usage");
  await expect(page.getByRole("table", { name: "By project" })).toContainText("<img src=x onerror=run()>");
  expect(await page.locator("main img").count()).toBe(0);
});

test("a failing server is told, and can be asked again", async ({ page, fixture, expected }) => {
  expected.push(/500/);
  fixture.failing = 500;
  await page.goto("/usage");
  await expect(page.getByRole("alert")).toContainText("Something is broken.");
  fixture.failing = null;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("$");
});

test("on a slow machine ranges still end at the right number", async ({ page }) => {
  test.slow();
  await slowDown(page);
  await page.goto("/usage");
  await patient(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("]");
  await patient(page).toHaveURL("/usage?range=year");
  await page.keyboard.press("]");
  await patient(page).toHaveURL("/usage?range=all");
  await patient(page.getByRole("heading", { level: 1 })).toContainText("in all");
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.goto("/usage?tables=true");
    await expect(page.getByRole("table", { name: "By tool" })).toBeVisible();
    await expect(page.getByRole("img", { name: /every day of the year/i })).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findViolations(page)).toEqual([]);
    expect(await widthOf(page)).toBe(390);
  });
}
