import { LONG_SESSION, STORY } from "../fixture/archive";
import type { Fixture } from "../fixture/server";
import { expect, test } from "./page";
import { patient, slowDown } from "./slow";

test("the list stands by day, with what each session is", async ({ page }) => {
  await page.goto("/");
  await expect(page).toHaveURL("/sessions");
  await expect(page).toHaveTitle("Sessions · turnlog");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sessions 620");
  const first = page.getByRole("row").filter({ hasText: "Strike out sailings" }).first();
  await expect(first).toContainText("Read the winter plan, too.");
  await expect(first).toContainText("review");
  await expect(page.getByRole("rowheader", { name: /Today|Yesterday/ }).first()).toBeVisible();
});

test("filters stand in the address, and back undoes them", async ({ page, fixture }) => {
  await page.goto("/sessions");
  const projects = page.getByRole("complementary", { name: "Narrow down" });
  await projects.getByRole("button", { name: /tide-gauge/ }).click();
  await expect(page).toHaveURL(/project=/);
  const count = fixture.sessions.filter((session) => session.project?.endsWith("/tide-gauge")).length;
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(`Sessions ${count}`);
  await page.getByRole("button", { name: "Starred", exact: true }).click();
  await expect(page).toHaveURL(/starred=true/);
  await page.reload();
  await expect(page.getByRole("button", { name: "Starred", exact: true })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  await page.goBack();
  await page.goBack();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sessions 620");
});

test("typing narrows the list down, and says so when nothing is left", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await page.keyboard.press("f");
  await page.keyboard.type("gulls");
  await expect(page.getByRole("row").filter({ hasText: "Count gulls" }).first()).toBeVisible();
  await expect(page.getByRole("row").filter({ hasText: "Release 2.4" })).toHaveCount(0);
  await page.keyboard.type(" on mars");
  await expect(page.getByText("No sessions match.")).toBeVisible();
  await page.getByRole("button", { name: "Show all sessions" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sessions 620");
});

test("in another order there are no days", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByLabel("Order").selectOption("cost");
  await expect(page).toHaveURL(/sort=cost/);
  await expect(page.getByRole("rowheader")).toHaveCount(0);
  await expect(page.getByRole("columnheader", { name: "Cost" })).toHaveClass(/now/);
});

test("keys move, star and open", async ({ page, fixture }) => {
  await page.goto("/sessions");
  await page.getByText("Strike out sailings").first().waitFor();
  for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
  const current = page.locator("[role=row][aria-current]");
  await expect(current).toContainText("One hundred thousand messages");
  await expect(current.getByRole("link")).toBeFocused();
  await page.keyboard.press("s");
  await expect(current.getByRole("button", { name: "Remove the star" })).toBeVisible();
  await expect
    .poll(() => fixture.sessions.find((session) => session.key === LONG_SESSION)?.marks.starred)
    .toBe(true);
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`/sessions/${STORY}`);
  await page.goBack();
  await expect(page).toHaveURL("/sessions");
});

test("facets come from the server, with their counts, also a branch", async ({ page, fixture }) => {
  await page.goto("/sessions");
  const facets = page.getByRole("complementary", { name: "Narrow down" });
  const count = fixture.sessions.filter((session) => session.git_branch === "report-errors").length;
  const branch = facets.getByRole("button", { name: /^report-errors/ });
  await expect(branch).toHaveText(`report-errors${count}`);
  await branch.click();
  await expect(page).toHaveURL(/branch=report-errors/);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(`Sessions ${count}`);
  await branch.click();
  await expect(page).toHaveURL("/sessions");
});

test("states are shapes with words", async ({ page, fixture }) => {
  fixture.change("s-3", { state: "needs_you" });
  fixture.change("s-4", { state: "stopped" });
  await page.goto("/sessions");
  const row = (key: string) => page.getByRole("row").filter({ has: page.locator(`[data-session="${key}"]`) });
  await expect(row("s-3").getByRole("cell").first()).toHaveText("Needs you");
  await expect(row("s-3")).toContainText("needs you");
  await expect(row("s-4").getByRole("cell").first()).toHaveText("Stopped");
});

test("tags are given and taken away, one session or several", async ({ page, fixture }) => {
  const tagsOf = (key: string) => fixture.sessions.find((session) => session.key === key)?.marks.tags;
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  for (const key of ["j", "j", "t"]) await page.keyboard.press(key);
  const dialog = page.getByRole("dialog", { name: "Tags" });
  await dialog.getByRole("combobox").or(dialog.getByRole("textbox")).fill("<b>x</b>");
  await page.keyboard.press("Enter");
  await expect.poll(() => tagsOf(LONG_SESSION)).toEqual(["<b>x</b>"]);
  await expect(dialog.getByRole("button", { name: "Remove <b>x</b>" })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await expect(page.locator("[aria-current] .tag")).toHaveText("<b>x</b>");

  await page.keyboard.press("x");
  await page.keyboard.press("k");
  await page.keyboard.press("x");
  await expect(page.getByRole("group", { name: "Selected sessions" })).toContainText("2 selected");
  await page.keyboard.press("t");
  await dialog.getByRole("button", { name: "Remove <b>x</b>" }).click();
  await expect.poll(() => tagsOf(LONG_SESSION)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await page.getByRole("group", { name: "Selected sessions" }).getByRole("button", { name: "Star" }).click();
  await expect
    .poll(() => fixture.sessions.slice(0, 2).map((session) => session.marks.starred))
    .toEqual([true, true]);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sessions 620");
});

test("space looks into a session without leaving the list", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press(" ");
  const peek = page.getByRole("complementary", { name: "Preview" });
  await expect(peek).toContainText("Strike out sailings");
  await expect(peek.getByRole("link").first()).toBeVisible();
  await page.keyboard.press("j");
  await expect(peek).toContainText("One hundred thousand");
  await page.keyboard.press("Escape");
  await expect(peek).toHaveCount(0);
  await expect(page).toHaveURL("/sessions");
});

test("back leads to where the list was left", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  const main = page.locator("main");
  await main.evaluate((element) => {
    element.scrollTop = 4000;
  });
  const row = page.locator('[data-session="s-70"]');
  await expect(row).toBeVisible();
  await row.click();
  await expect(page).toHaveURL("/sessions/s-70");
  await page.goBack();
  await expect(row).toBeInViewport();
  await page.reload();
  await expect(row).toBeInViewport();
});

test("days that were asked for can be taken away", async ({ page }) => {
  const day = new Date().toISOString().slice(0, 10);
  await page.goto(`/sessions?since=${day}`);
  const chip = page.getByRole("button", { name: /^since / });
  await expect(chip).toBeVisible();
  await chip.click();
  await expect(page).toHaveURL("/sessions");
});

test("rows take one line or two, and the browser remembers it", async ({ page }) => {
  await page.goto("/sessions");
  const row = page.getByRole("row").filter({ hasText: "One hundred thousand" });
  await expect(row).toHaveCSS("height", "58px");
  await page.getByRole("button", { name: "One", exact: true }).click();
  await expect(row).toHaveCSS("height", "36px");
  await page.reload();
  await expect(row).toHaveCSS("height", "36px");
});

test("on a slow machine keys still act on the row they are at", async ({ page }) => {
  test.slow();
  await slowDown(page);
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
  await patient(page.locator("[role=row][aria-current]")).toContainText("One hundred thousand messages");
});

test.describe("with 10,000 sessions", () => {
  test.use({ sessions: 10_000 });
  test("few rows are in the document, and the end can be reached", async ({ page }) => {
    await page.goto("/sessions");
    await page.getByText("One hundred thousand").waitFor();
    const main = page.locator("main");
    const rows = page.locator(".s-row");
    expect(await rows.count()).toBeLessThan(60);
    await expect(async () => {
      await main.evaluate((element) => {
        element.scrollTop = element.scrollHeight;
      });
      await expect(page.locator('[data-session="s-9999"]')).toBeVisible({ timeout: 500 });
    }).toPass({ timeout: 40_000 });
    expect(await rows.count()).toBeLessThan(60);
  });
});

test.describe("with no sessions", () => {
  test.use({ sessions: 0 });
  test("it says what to do", async ({ page, fixture }) => {
    await page.goto("/sessions");
    await expect(page.getByRole("heading", { name: "Nothing kept yet." })).toBeVisible();
    await expect(page.getByText("turnlog serve --demo")).toBeVisible();
    fixture.sessions = [];
    await page.getByRole("button", { name: "Look again" }).click();
    await expect(page.getByRole("heading", { name: "Nothing kept yet." })).toBeVisible();
  });
});

test("where there is no room beside the list, the filters are drawn over it", async ({ page }) => {
  await page.setViewportSize({ width: 1000, height: 800 });
  await page.goto("/sessions");
  const filters = page.getByRole("complementary", { name: "Narrow down" });
  await expect(page.getByRole("row").nth(2)).toBeVisible();
  await expect(filters).toBeHidden();
  await page.getByRole("button", { name: "Filters" }).click();
  await filters
    .getByRole("button", { name: /harbour/ })
    .first()
    .click();
  await expect(page).toHaveURL(/project=/);
  await page.keyboard.press("Escape");
  await expect(filters).toBeHidden();
});

/** 120 runs of a nightly job, every fifth session. */
function addRuns(fixture: Fixture): void {
  fixture.sessions = fixture.sessions.map((session, n) =>
    n % 5 === 3
      ? { ...session, title: `Triage the issues of day ${n}`, first_prompt: null, series: "nightly" }
      : session,
  );
}

test("sessions that a program started again and again are one row, and open in place", async ({
  page,
  fixture,
}) => {
  addRuns(fixture);
  await page.goto("/sessions");
  const toggle = page.getByRole("button", { name: "124 sessions like this" });
  await expect(toggle).toHaveAttribute("aria-expanded", "false");
  const runs = page.getByRole("row").filter({ hasText: "Triage the issues" });
  await expect(runs).toHaveCount(1);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sessions 620");
  await expect(page.getByRole("table")).toHaveAttribute("aria-rowcount", "497");

  await toggle.focus();
  await page.keyboard.press("Enter");
  await expect(toggle).toHaveAttribute("aria-expanded", "true");
  await expect(runs.nth(1)).toContainText("Triage the issues of day 8");
  await expect(runs.nth(1).getByRole("cell").last()).not.toHaveText(/^\d\d:\d\d$/); // the day is another one
  await expect(page.locator("[data-session=s-3]")).toHaveCount(1);

  // Keys go through the others as well, to where the group goes on.
  const more = page.getByRole("button", { name: "Show more (74 left)" });
  await runs.nth(0).getByRole("link").focus();
  for (let n = 0; n < 54; n++) await page.keyboard.press("j");
  await expect(page.locator("[role=row][aria-current]")).toBeVisible();
  await more.click();
  await expect(more).toHaveCount(0);

  await page.locator("#main").evaluate((element) => {
    element.scrollTo({ top: 0 });
  });
  await toggle.click();
  await expect(runs).toHaveCount(1);
  for (const key of ["Escape", "j", "j", "j", "j"]) await page.keyboard.press(key);
  await expect(page.locator("[role=row][aria-current]")).toContainText("Triage the issues of day 3");
  await page.keyboard.press("e");
  await expect(toggle).toHaveAttribute("aria-expanded", "true");
});

test("an opened group stays open when another session of it comes in", async ({ page, fixture }) => {
  addRuns(fixture);
  await page.goto("/sessions");
  await page.getByRole("button", { name: "124 sessions like this" }).click();
  await expect(page.locator("[data-session=s-8]")).toBeVisible();
  const [first] = fixture.sessions;
  if (first) {
    const fresh = { ...first, key: "s-fresh", title: "Triage the issues of today", series: "nightly" };
    fixture.sessions = [fresh, ...fixture.sessions];
  }
  fixture.changes += 1;
  const toggle = page.getByRole("button", { name: "125 sessions like this" });
  await expect(toggle).toHaveAttribute("aria-expanded", "true");
  const runs = page.getByRole("row").filter({ hasText: "Triage the issues" });
  await expect(runs.nth(0)).toContainText("of today");
  await expect(runs.nth(1)).toContainText("of day 3");
});
