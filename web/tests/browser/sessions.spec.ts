import { LONG_SESSION, STORY } from "../fixture/archive";
import { expect, test } from "./page";

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
  await page.keyboard.press("/");
  await page.keyboard.type("gulls");
  await expect(page.getByRole("row").filter({ hasText: "Count gulls" }).first()).toBeVisible();
  await expect(page.getByRole("row").filter({ hasText: "Release 2.4" })).toHaveCount(0);
  await page.keyboard.type(" on mars");
  await expect(page.getByText("No session is like that.")).toBeVisible();
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
  await expect(current.getByRole("button", { name: "Take the star away" })).toBeVisible();
  await expect
    .poll(() => fixture.sessions.find((session) => session.key === LONG_SESSION)?.marks.starred)
    .toBe(true);
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`/sessions/${STORY}`);
  await page.goBack();
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
