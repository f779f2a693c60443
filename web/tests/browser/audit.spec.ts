import { SESSIONS } from "../fixture/team";
import { findViolations, widthOf } from "./axe";
import { expect, test } from "./team-page";

test("a look at somebody else’s session is there, for both", async ({ page, team, enter, browser }) => {
  const looking = await browser.newPage({ baseURL: team.url });
  await looking.request.post(`${team.url}/api/login`, { data: { token: team.tokens.vera } });
  await looking.goto(`/sessions/${team.keys.benShared}`);
  await expect(looking.getByText(/that is done, and the tests pass/).first()).toBeVisible();
  await looking.close();

  await enter("ben");
  await page.goto("/audit?action=viewed");
  const entry = page.getByRole("listitem").filter({ hasText: "vera viewed a session of ben" });
  await entry.first().getByRole("link", { name: "a session" }).click();
  await expect(page).toHaveURL(`/sessions/${team.keys.benShared}`);
  await expect(page.getByRole("heading", { name: SESSIONS.benShared.title }).first()).toBeVisible();
});

test("filters stand in the address, and can be taken away", async ({ page, enter }) => {
  await enter("ada");
  await page.goto("/audit?action=user-added");
  await expect(page.getByText("The operator added ben").first()).toBeVisible();
  await page.goto("/audit");
  await page.getByLabel("Who did it").selectOption("ben");
  await expect(page).toHaveURL("/audit?who=ben");
  await page.getByLabel("What was done").selectOption("Sharing changed");
  await expect(page).toHaveURL("/audit?who=ben&action=visibility-changed");
  await expect(page.getByText(/^ben changed who sees a session/).first()).toBeVisible();
  await page.getByRole("button", { name: "Only what concerns this session" }).first().click();
  await expect(page).toHaveURL(/\/audit\?who=ben&action=visibility-changed&session=\w+$/);
  await page.getByLabel("What was done").selectOption("Session deleted");
  await expect(page.getByText("No entries match.")).toBeVisible();
  await page.getByRole("button", { name: "Clear all filters" }).click();
  await expect(page).toHaveURL("/audit");
  await expect(page.getByRole("listitem").first()).toBeVisible();
});

test("earlier entries come by scrolling", async ({ page, team, enter }) => {
  await enter("ada");
  // Every token leaves an entry behind.
  await team.ask("ada", "/api/users", { name: "faye" });
  const wish = { kind: "personal", label: "one of many", user: "faye" };
  for (let n = 0; n < 45; n += 5)
    await Promise.all(Array.from({ length: 5 }, () => team.ask("ada", "/api/tokens", wish)));
  await page.route(/\/api\/audit\?/, (route) =>
    route.continue({ url: route.request().url().replace("limit=100", "limit=40") }),
  );
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.goto("/audit?person=faye&action=token-created");
  const entries = page.getByRole("listitem");
  await expect(entries).toHaveCount(40);
  await page.mouse.wheel(0, 20_000);
  await expect(entries).toHaveCount(45);
  await expect(page.getByRole("button", { name: "Earlier entries" })).toHaveCount(0);
});

test("what is about nobody else is all that a member sees", async ({ page, enter }) => {
  await enter("vera");
  await page.goto("/audit");
  await expect(page.getByText("The operator added vera").first()).toBeVisible();
  await expect(page.getByText("The operator added ben")).toHaveCount(0);
  await expect(page.getByLabel("Whom it concerns")).toHaveCount(0);
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page, enter }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await enter("ada");
    await page.goto("/audit?action=user-added");
    await expect(page.getByText("The operator added ben").first()).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findViolations(page)).toEqual([]);
    expect(await widthOf(page)).toBe(390);
  });
}
