import type { Page } from "@playwright/test";

import { SESSIONS } from "../fixture/team";
import { findViolations, widthOf } from "./axe";
import { expect, test } from "./team-page";

const REFUSED = /status of 401/;
const field = (page: Page) => page.getByLabel("Token", { exact: true });

async function logIn(page: Page, token: string): Promise<void> {
  await field(page).fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
}

test("a token lets one in, to where one wanted to go, and logging out ends that", async ({
  page,
  team,
  expected,
}) => {
  expected.push(REFUSED);
  await page.goto("/sessions?project=%2Fsrv%2Fwebsite");
  await expect(page.getByRole("heading", { name: "Log in" })).toBeVisible();
  await expect(page).toHaveTitle("Log in · turnlog");
  await expect(field(page)).toBeFocused();
  await logIn(page, ` ${team.tokens.ben}\n`);
  await expect(page.getByText(SESSIONS.benShared.title).first()).toBeVisible();
  await expect(page).toHaveURL("/sessions?project=%2Fsrv%2Fwebsite");

  await page.getByRole("button", { name: "Account: ben" }).click();
  const menu = page.getByRole("group", { name: "Account" });
  await expect(menu).toContainText("Ben Carey");
  await expect(menu).toContainText("member: has sessions");
  await menu.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByRole("heading", { name: "Log in" })).toBeVisible();
  await page.goto("/sessions");
  await expect(page.getByRole("heading", { name: "Log in" })).toBeVisible();
  await expect(page.getByText(SESSIONS.benShared.title)).toHaveCount(0);
});

test("what is wrong with a token is said, and the next one counts", async ({ page, team, expected }) => {
  expected.push(REFUSED);
  await page.goto("/usage");
  const told = page.getByRole("alert");
  await logIn(page, `tlm_${"x".repeat(43)}`);
  await expect(told).toContainText("This is a machine token");
  await logIn(page, team.tokens.ben.slice(0, -1));
  await expect(told).toContainText("has 47 characters, and this has 46");
  await logIn(page, `tlp_${"x".repeat(43)}`);
  await expect(told).toContainText("This token is not valid");
  await expect(field(page)).toHaveAttribute("aria-invalid", "true");
  await logIn(page, team.tokens.vera);
  await expect(page.getByRole("button", { name: "Account: vera" })).toBeVisible();
  await expect(page).toHaveURL("/usage");
});

test("a cookie that ends in the middle of work costs nothing that was typed", async ({
  page,
  team,
  enter,
  expected,
}) => {
  expected.push(REFUSED, /Failed to load/);
  await enter("ada");
  await page.goto("/people?add");
  const dialog = page.getByRole("dialog", { name: "Add someone" });
  await dialog.getByLabel("Full name").fill("Somebody half typed");
  await dialog.getByLabel("Name", { exact: true }).fill("cyd");
  const again = page.getByRole("dialog", { name: "Log in again" });
  await page.context().clearCookies();
  await dialog.getByRole("button", { name: "Add" }).click();
  await expect(again).toBeVisible();
  await expect(again.getByLabel("Token")).toBeFocused();
  // There is nothing behind it to go back to.
  await page.keyboard.press("Escape");
  await expect(again).toBeVisible();
  await again.getByLabel("Token").fill(team.tokens.ada);
  await again.getByRole("button", { name: "Log in" }).click();
  await expect(again).toHaveCount(0);
  await expect(dialog.getByLabel("Full name")).toHaveValue("Somebody half typed");
  await dialog.getByRole("button", { name: "Add" }).click();
  await expect(page.getByText("cyd was added.")).toBeVisible();
});

test("another person who logs in again sees nothing of the one before", async ({
  page,
  team,
  enter,
  expected,
}) => {
  expected.push(REFUSED, /Failed to load/);
  await enter("ben");
  await page.goto("/sessions");
  await expect(page.getByText(SESSIONS.benPrivate.title).first()).toBeVisible();
  await page.context().clearCookies();
  await page.getByText(SESSIONS.benPrivate.title).first().click();
  const again = page.getByRole("dialog", { name: "Log in again" });
  await again.getByLabel("Token").fill(team.tokens.vera);
  await again.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("button", { name: "Account: vera" })).toBeVisible();
  await expect(page.getByText(SESSIONS.benPrivate.title)).toHaveCount(0);
});

test("a provider has its button, which leads back to where one wanted to go", async ({ page, expected }) => {
  expected.push(REFUSED);
  await page.route("**/api/login", (route) =>
    route.fulfill({ json: { team: true, oidc: { label: "Harbour ID" } } }),
  );
  await page.goto("/usage?range=7d");
  await expect(page.getByRole("link", { name: "Log in with Harbour ID" })).toHaveAttribute(
    "href",
    "/api/login/oidc?next=%2Fusage%3Frange%3D7d",
  );
  await page.goto("/login?error=unknown&next=%2Fpeople");
  await expect(page.getByRole("alert")).toContainText("there is no account for you here");
});

test("the login’s own address leads on for whoever is in", async ({ page, enter }) => {
  await enter("ben");
  await page.goto("/login?next=%2Fpeople");
  await expect(page).toHaveURL("/people");
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page, enter, expected }) => {
    expected.push(REFUSED, /Failed to load/);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.goto("/sessions");
    await page.getByRole("button", { name: "Log in" }).click();
    await expect(page.getByRole("alert")).toHaveText("Paste your token here.");
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findViolations(page)).toEqual([]);
    expect(await widthOf(page)).toBe(390);
    await enter("ben");
    await page.goto("/audit");
    await page.getByRole("button", { name: "Account: ben" }).click();
    await expect(page.getByRole("group", { name: "Account" })).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    expect(await widthOf(page)).toBe(390);
  });
}
