import { HOSTILE, STORY } from "../fixture/archive";
import { findViolations, widthOf } from "./axe";
import { expect, test } from "./page";
import { patient, slowDown } from "./slow";

const asked = (requests: readonly string[]) =>
  requests
    .filter((path) => path.startsWith("/api/search?"))
    .map((path) => new URL(path, "http://x").searchParams.get("q"));

test("hits come as one types, by session, with the hit marked", async ({ page, fixture }) => {
  await page.goto("/search");
  const field = page.getByRole("combobox", { name: "Search everything" });
  await expect(field).toBeFocused();
  await field.fill("sailing");
  const group = page.getByRole("region", { name: "Strike out sailings that do not run" });
  await expect(group.getByRole("link").nth(1)).toBeVisible();
  await expect(group.locator("mark").first()).toHaveText(/sailing/i);
  await expect(page.getByRole("status").filter({ hasText: /hits? in 1 session/ })).toBeVisible();
  await expect(page).toHaveURL("/search?q=sailing");
  expect(fixture.requests.filter((path) => path.startsWith("/api/search?")).at(-1)).toContain("typing=true");
});

test("a page says how far the index is behind", async ({ page }) => {
  await page.goto("/search?q=sailing");
  await expect(page.locator(".hit").first()).toBeVisible();
  await expect(page.getByText("behind: what is new may be missing")).toHaveCount(0);
  await page.goto("/search?q=sailing+-lagging");
  await expect(page.getByText("The index is 1,200 changes behind: what is new may be missing.")).toBeVisible();
});

test("Enter lands on the exact message, also inside a folded call; back leads to the search", async ({
  page,
}) => {
  await page.goto("/search?q=kind:tool-output+sailing");
  await expect(page.locator(".hit").first()).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`^.*/sessions/${STORY}/messages/.*call=`));
  await expect(page.locator("details.call[open]").filter({ hasText: "def plan(day" }).first()).toBeVisible();
  await page.goBack();
  await expect(page.locator(".hit").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Remove kind tool-output" })).toBeVisible();
});

test("the preview is the conversation around the hit, with its call opened", async ({ page }) => {
  await page.goto("/search?q=sailing");
  const preview = page.getByRole("complementary", { name: "Preview" });
  await expect(page.locator(".hit").first()).toHaveAttribute("aria-current", "true");
  await expect(preview.getByText("def plan(day: date)")).toBeVisible();
  const marked = () => page.evaluate(() => [...(CSS.highlights.get("hit") ?? [])].map(String));
  await expect.poll(marked).toEqual(["Sailing"]);
  await page.keyboard.press("ArrowDown");
  await expect(page.locator(".hit").nth(1)).toHaveAttribute("aria-current", "true");
  await expect(preview).toContainText("hit 2 of");
  await expect(page).toHaveURL(/hit=1/);
  await page.reload();
  await expect(page.locator(".hit").nth(1)).toHaveAttribute("aria-current", "true");
});

test("a filter is completed, stands as a token, and goes by keyboard", async ({ page, fixture }) => {
  await page.goto("/search");
  const field = page.getByRole("combobox", { name: "Search everything" });
  await field.pressSequentially("sailing too");
  await field.press("Tab");
  await expect(field).toHaveValue("sailing tool:");
  const values = page.getByRole("listbox", { name: "Values" });
  await field.pressSequentially("Re");
  await expect(values.getByRole("option").first()).toHaveText(/Read/);
  await field.press("Tab");
  const token = page.getByRole("button", { name: "Remove tool Read" });
  await expect(token).toBeVisible();
  await expect(field).toHaveValue("sailing ");
  await expect.poll(() => asked(fixture.requests).at(-1)).toBe("tool:Read sailing ");
  await expect(page.locator(".hit")).toHaveCount(1);
  await field.fill("");
  await field.press("Backspace");
  await expect(token).toHaveCount(0);
  await expect(page).toHaveURL("/search");
  await page.goBack();
  await expect(token).toBeVisible();
  await token.press("Delete");
  await expect(token).toHaveCount(0);
  await expect(field).toBeFocused();
});

test("values are chosen with arrows, and Escape shuts them", async ({ page }) => {
  await page.goto("/search");
  await page.getByRole("button", { name: "kind", exact: true }).click();
  const field = page.getByRole("combobox", { name: "Search everything" });
  await expect(field).toHaveAttribute("aria-expanded", "true");
  await field.press("ArrowDown");
  await expect(page.getByRole("option", { selected: true })).toHaveText("kind answer");
  await field.press("Escape");
  await expect(field).toHaveAttribute("aria-expanded", "false");
  await field.pressSequentially("pro");
  await field.press("Enter");
  await expect(page.getByRole("button", { name: "Remove kind prompt" })).toBeVisible();
});

test("facets toggle the same tokens, and count when all hits are there", async ({ page }) => {
  await page.goto("/search?q=sailing");
  const prompts = page
    .getByRole("complementary", { name: "Narrow down" })
    .getByRole("button", { name: /^Prompts/ });
  await expect(prompts).toHaveText(/\d+$/);
  await prompts.click();
  await expect(page.getByRole("button", { name: "Remove kind prompt" })).toBeVisible();
  await expect(prompts).toHaveAttribute("aria-pressed", "true");
  await prompts.click();
  await expect(page.getByRole("button", { name: "Remove kind prompt" })).toHaveCount(0);
});

test("what is not understood is told, with its place", async ({ page, expected }) => {
  expected.push(/400/);
  await page.goto("/search?q=is:broken");
  const error = page.locator(".qerr");
  await expect(error).toContainText("Expected is: to be one of error, sidechain, got broken");
  await expect(error.locator("u")).toHaveText("broken");
  await expect(page.getByRole("button", { name: "Remove is broken" })).toHaveClass(/wrong/);
  const field = page.getByRole("combobox", { name: "Search everything" });
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await field.press("Backspace");
  await field.fill('tea "');
  await expect(error.locator("u")).toHaveText('"');
  await field.fill("sailing");
  await expect(error).toHaveCount(0);
  await expect(page.locator(".hit").first()).toBeVisible();
});

test("what is asked for next takes the place of what is under way", async ({ page, fixture }) => {
  await page.goto("/search");
  let held = 0;
  let given = 0;
  await page.route(/\/api\/search\?q=s&/, async (route) => {
    held += 1;
    // Never answered: only giving it up ends it.
    await new Promise(() => route);
  });
  page.on("requestfailed", (request) => {
    if (request.url().includes("q=s&")) given += 1;
  });
  const field = page.getByRole("combobox", { name: "Search everything" });
  await field.fill("s");
  await expect.poll(() => held).toBe(1);
  await field.fill("sailing");
  await expect(page.locator(".hit").first()).toBeVisible();
  await expect.poll(() => given).toBe(1);
  expect(asked(fixture.requests)).not.toContain("s");
});

test("more hits come as one scrolls, and best first is an order of its own", async ({ page, fixture }) => {
  await page.goto("/search?q=kind:answer");
  fixture.requests.length = 0;
  await page.getByRole("button", { name: "Best first" }).click();
  await expect(page).toHaveURL(/order=relevance/);
  await expect.poll(() => fixture.requests.some((path) => path.includes("order=relevance"))).toBe(true);
  await page.goto("/search?q=e");
  await expect(page.locator(".hit").nth(49)).toBeAttached();
  await expect(async () => {
    await page.locator("main").evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
    await expect(page.locator(".hit").nth(50)).toBeAttached({ timeout: 500 });
  }).toPass();
});

test("hostile text in titles and snippets stays text", async ({ page, fixture }) => {
  fixture.change(HOSTILE, { title: "<img src=x onerror=window.__run=1>\u202e evil", project: "/x/<b>y</b>" });
  await page.goto("/search?q=script");
  await expect(page.locator(".grp h2").filter({ hasText: "<img src=x onerror" })).toContainText("⟨U+202E⟩");
  for (let n = 0; n < 6; n += 1) await page.keyboard.press("ArrowDown");
  await expect(page.locator(".hit").nth(6)).toHaveAttribute("aria-current", "true");
  expect(await page.evaluate(() => (window as { __run?: number }).__run)).toBeUndefined();
  expect(await page.locator("main script, main img, main iframe").count()).toBe(0);
});

test("nothing found is said, and a failing server can be asked again", async ({ page, fixture, expected }) => {
  expected.push(/500/);
  await page.goto("/search?q=nowhereatall");
  await expect(page.getByText("No matches.")).toBeVisible();
  fixture.failing = 500;
  await page.goto("/search?q=sailing");
  await expect(page.getByRole("alert")).toContainText("Something is broken.");
  fixture.failing = null;
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator(".hit").first()).toBeVisible();
});

test("the empty page shows what can be asked", async ({ page }) => {
  await page.goto("/search");
  await page.getByRole("button", { name: /tool:Bash is:error/ }).click();
  await expect(page.getByRole("button", { name: "Remove is error" })).toBeVisible();
  await expect(page).toHaveURL(/q=tool%3ABash\+is%3Aerror/);
});

test("on a slow machine typing still ends at the right hits", async ({ page }) => {
  test.slow();
  await slowDown(page);
  await page.goto("/search");
  await page.getByRole("combobox", { name: "Search everything" }).pressSequentially("winter plan");
  await patient(page.locator(".hit").first()).toContainText(/winter/i);
  await patient(page).toHaveURL("/search?q=winter+plan");
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.goto("/search?q=tool:Read+sailing");
    await expect(page.getByText("def plan(day: date)").first()).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    await expect(page.locator(".hit").first()).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    expect(await widthOf(page)).toBe(390);
  });
}
