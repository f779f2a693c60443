import { PARTS } from "../fixture/archive";
import { buildCards } from "../fixture/board";
import { expect, test } from "./page";

const bar = "Find in this conversation";

test("what is looked for stands in the address, and is a step of its own", async ({ page }) => {
  await page.goto("/sessions");
  await page.goto(`/sessions/${PARTS}`);
  await expect(page.getByRole("article").first()).toBeVisible();
  await page.keyboard.press("f");
  const field = page.getByRole("searchbox", { name: bar });
  await field.fill("tide");
  await expect(page).toHaveURL(/\?find=tide$/);
  await expect(page.getByRole("search").getByRole("status")).toHaveText(/hit/);
  await page.goBack();
  await expect(field).toBeHidden();
  await expect(page).toHaveURL(new RegExp(`/sessions/${PARTS}$`));
  await page.goForward();
  await expect(field).toHaveValue("tide");
});

test("closing takes the step back, so that going back leads out", async ({ page }) => {
  await page.goto("/sessions");
  await expect(page.getByRole("row").nth(2)).toBeVisible();
  await page.goto(`/sessions/${PARTS}`);
  await expect(page.getByRole("article").first()).toBeVisible();
  await page.keyboard.press("f");
  const field = page.getByRole("searchbox", { name: bar });
  await field.fill("tide");
  await expect(page).toHaveURL(/find=tide/);
  await field.press("Escape");
  await expect(field).toBeHidden();
  await expect(page).not.toHaveURL(/find/);
  await page.goBack();
  await expect(page).toHaveURL(/\/sessions$/);
});

test("a link to what is looked for opens it, and typing does not move what is read", async ({ page }) => {
  await page.goto(`/sessions/${PARTS}?find=tide`);
  const field = page.getByRole("searchbox", { name: bar });
  await expect(field).toHaveValue("tide");
  await expect(page.getByRole("search").getByRole("status")).toHaveText(/hit/);
  await expect.poll(() => page.evaluate(() => CSS.highlights.get("find")?.size ?? 0)).toBeGreaterThan(0);
  const scroller = page.locator(".scroll");
  await scroller.evaluate((element) => {
    element.scrollTop = 300;
  });
  await field.fill("tides");
  await expect(page).toHaveURL(/find=tides/);
  expect(await scroller.evaluate((element) => element.scrollTop)).toBe(300);
  await field.press("Escape");
  await expect(page).not.toHaveURL(/find/);
});

test("the address alone leads to all sessions while nothing lives", async ({ page }) => {
  await page.goto("/");
  await expect(page).toHaveURL(/\/sessions$/);
});

test("the address alone leads to what lives, whose age the key line tells", async ({ page, fixture }) => {
  fixture.cards = buildCards(Date.now());
  await page.goto("/");
  await expect(page).toHaveURL(/\/mission-control$/);
  await expect(page.locator(".keys")).toContainText("live, updated");
});
