import { HOSTILE, STORY } from "../fixture/archive";
import { findViolations } from "./axe";
import { expect, test } from "./page";
import { patient, slowDown } from "./slow";

const FIELD = { name: "Search or jump to" };

test("Ctrl K finds a session by its title, and Enter opens it", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", FIELD);
  await expect(field).toBeFocused();
  await field.fill("hundred");
  const option = page.getByRole("dialog").getByRole("option", { selected: true });
  await expect(option).toContainText("One hundred thousand messages");
  await expect(option.locator("mark")).toHaveText("hundred");
  await field.press("Enter");
  await expect(page).toHaveURL("/sessions/s-long");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("pages, projects, tags and messages are there, and arrows go round", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await page.getByRole("button", { name: /Search or jump to/ }).click();
  const field = page.getByRole("combobox", FIELD);
  await field.fill("usa");
  await expect(page.getByRole("group", { name: "Pages" }).getByRole("option")).toHaveText([/Usage/]);
  await field.fill("@tide");
  await expect(page.getByRole("dialog").getByRole("option")).toHaveText([/tide-gauge/]);
  await field.fill("#refac");
  await expect(page.getByRole("dialog").getByRole("option")).toHaveText([/refactor/]);
  await field.fill("sailing");
  const messages = page.getByRole("group", { name: "Messages" });
  await expect(messages.getByRole("option").first().locator("mark")).toHaveText(/sailing/i);
  await field.press("ArrowUp");
  await expect(page.getByRole("dialog").getByRole("option").last()).toHaveAttribute("aria-selected", "true");
  await field.press("ArrowDown");
  await expect(page.getByRole("dialog").getByRole("option").first()).toHaveAttribute("aria-selected", "true");
  await messages.getByRole("option").filter({ hasText: "does not run must be struck out" }).click();
  await expect(page).toHaveURL(new RegExp(`/sessions/${STORY}/messages/`));
});

test("Tab chooses what is looked for, and all messages lead to the search", async ({ page }) => {
  await page.goto("/usage");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", FIELD);
  await field.fill("winter");
  for (let n = 0; n < 2; n += 1) await field.press("Tab");
  await expect(page.getByRole("dialog").getByRole("status")).toHaveText("messages");
  await page.getByRole("option", { name: /Search all messages for “winter”/ }).click();
  await expect(page).toHaveURL("/search?q=winter");
  await expect(page.locator(".hit").first()).toBeVisible();
});

test("actions of the page are there with their keys, and run", async ({ page }) => {
  await page.goto("/usage");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", FIELD).fill(">cost or");
  const option = page.getByRole("dialog").getByRole("option", { selected: true });
  await expect(option).toContainText("Cost or tokens");
  await expect(option.locator("kbd")).toHaveText("c");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL("/usage?measure=tokens");
});

test("nothing found is said, and Escape gives the focus back", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  const button = page.getByRole("button", { name: /Search or jump to/ });
  await button.click();
  await page.getByRole("combobox", FIELD).fill("@zzzzqqq");
  await expect(page.getByText("No matches.")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(button).toBeFocused();
});

test("g and a letter go to every page, and help lists the keys of the page", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  for (const [key, path] of [
    ["f", "/search"],
    ["u", "/usage"],
    ["p", "/problems"],
    ["s", "/sessions"],
  ] as const) {
    // The search takes the focus for typing; Escape gives it back.
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect(page).toHaveURL(path);
    await expect(page.getByRole("heading", { level: 1 })).toBeAttached();
  }
  await page.getByText("One hundred thousand").waitFor();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await expect(help).toContainText("peek");
  await expect(help).toContainText("go to usage");
  await page.keyboard.press("Escape");
  await expect(help).toHaveCount(0);
  await page.keyboard.press("/");
  await expect(page).toHaveURL("/search");
  await expect(page.getByRole("combobox", { name: "Search everything" })).toBeFocused();
});

test("hostile titles stay text", async ({ page, fixture }) => {
  fixture.change(HOSTILE, { title: "<b onclick=run()>Zebra</b>\u202e" });
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", FIELD).fill("zebra");
  await expect(page.getByRole("dialog").getByRole("option").first()).toContainText(
    "<b onclick=run()>Zebra</b>⟨U+202E⟩",
  );
  expect(await page.getByRole("dialog").locator("b").count()).toBe(0);
});

test("the demo says that it is one, on every page", async ({ page, fixture }) => {
  fixture.demo = true;
  for (const path of ["/sessions", "/usage"]) {
    await page.goto(path);
    await expect(page.getByRole("note")).toContainText("These sessions are made up");
  }
});

test("on a phone the pages are at the foot, and the rest under More", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/sessions");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Usage" }).click();
  await expect(page).toHaveURL("/usage");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("option", { name: /Problems/ }).click();
  await expect(page).toHaveURL("/problems");
});

test("on a slow machine the last word typed is what is found", async ({ page }) => {
  test.slow();
  await slowDown(page);
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", FIELD).pressSequentially("hundred thousand");
  await patient(page.getByRole("dialog").getByRole("option").first()).toContainText(
    "One hundred thousand messages",
  );
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.goto("/sessions");
    await page.getByText("One hundred thousand").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", FIELD).fill("sailing");
    await expect(page.getByRole("group", { name: "Messages" })).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
  });
}
