import { findViolations, widthOf } from "./axe";
import { expect as alone, test as aloneTest } from "./page";
import { expect, test } from "./team-page";

test("an admin adds somebody, makes their token, and they come in", async ({ page, team, enter, browser }) => {
  await enter("ada");
  await page.goto("/sessions");
  await page.getByRole("navigation", { name: "Pages" }).first().getByRole("link", { name: "People" }).click();
  await page.getByRole("button", { name: "Add someone" }).click();
  const adding = page.getByRole("dialog", { name: "Add someone" });
  await adding.getByLabel("Name", { exact: true }).fill("Dora!");
  await adding.getByRole("button", { name: "Add" }).click();
  await expect(adding.getByRole("alert")).toContainText("lower-case letters");
  await adding.getByLabel("Name", { exact: true }).fill("dora");
  await adding.getByLabel("Full name").fill("Dora Quill");
  await adding.getByLabel("Role").selectOption("member");
  await adding.getByRole("button", { name: "Add" }).click();
  await expect(page).toHaveURL("/people?person=dora");
  await expect(page.getByText("dora was added.")).toBeVisible();

  const tokens = page.getByRole("region", { name: "Tokens of dora" });
  await tokens.getByRole("button", { name: "New token…" }).click();
  const making = page.getByRole("dialog", { name: "New token" });
  await making.getByLabel("Label").fill("browser");
  await making.getByRole("button", { name: "Create" }).click();
  const once = page.getByRole("dialog", { name: "This is shown only once" });
  const secret = (await once.locator("code").first().textContent()) ?? "";
  expect(secret).toMatch(/^tlp_[\w-]{43}$/);
  await once.getByRole("button", { name: "I have it" }).click();
  await expect(tokens.getByRole("listitem")).toHaveText([/browser.*personal.*not used yet/]);
  await expect(page.getByText(secret)).toHaveCount(0);

  const theirs = await browser.newPage({ baseURL: team.url });
  await theirs.goto("/people");
  await theirs.getByLabel("Token", { exact: true }).fill(secret);
  await theirs.getByRole("button", { name: "Log in" }).click();
  await expect(theirs.getByRole("button", { name: "Account: dora" })).toBeVisible();
  await theirs.close();
});

test("a machine’s token comes with what to type there", async ({ page, team, enter }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await enter("ben");
  await page.goto("/sessions");
  await page.getByRole("button", { name: "Account: ben" }).click();
  await page.getByRole("link", { name: "Your account and tokens" }).click();
  await page.getByRole("button", { name: "New token…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Machine" }).click();
  await dialog.getByLabel("Label").fill("desk");
  await dialog.getByLabel("Valid for").selectOption("A year");
  await dialog.getByRole("button", { name: "Create" }).click();
  const commands = dialog.locator("code");
  const secret = (await commands.first().textContent()) ?? "";
  expect(secret).toMatch(/^tlm_/);
  await expect(commands.nth(1)).toHaveText(`(umask 077; echo '${secret}' > ~/.turnlog-token)`);
  await expect(commands.nth(2)).toHaveText(
    `turnlog push --to ${team.url} --token-file ~/.turnlog-token --once`,
  );
  await expect(commands.nth(3)).toHaveText(
    `turnlog service install --push ${team.url} --token-file ~/.turnlog-token`,
  );
  await dialog.getByRole("button", { name: "Copy: Push what there is" }).click();
  await expect(dialog.getByText("copied")).toBeAttached();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(`--to ${team.url}`);
  await page.keyboard.press("Escape");

  const tokens = page.getByRole("region", { name: "Tokens of ben" });
  await tokens.getByRole("button", { name: "Revoke desk" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await expect(page.getByText("“desk” was revoked.")).toBeVisible();
  await tokens.getByText("1 old token").click();
  await expect(tokens.getByText(/^revoked/)).toBeVisible();
});

test("disabling says first what ends, and does it", async ({ page, team, enter }) => {
  await team.ask("ada", "/api/users", { name: "emil", role: "member", full_name: "", email: "" });
  for (const kind of ["personal", "machine"])
    await team.ask("ada", "/api/tokens", { kind, label: kind, user: "emil" });
  await enter("ada");
  await page.goto("/people?person=emil");
  await page.getByLabel("Full name").fill("Emil Sand");
  await page.getByLabel("Role").selectOption("viewer");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("emil was changed.")).toBeVisible();
  await page.getByRole("button", { name: "Disable…" }).click();
  const dialog = page.getByRole("dialog", { name: "Disable emil?" });
  await expect(dialog.getByRole("listitem")).toHaveText([/^1 personal token/, /^1 machine token/, /^0 links/]);
  await dialog.getByRole("button", { name: "Disable", exact: true }).click();
  await expect(page.getByText("emil has been disabled.")).toBeVisible();
  const row = page.getByRole("listitem").filter({ hasText: "Emil Sand" }).first();
  await expect(row.locator(".pe-user")).toContainText("disabled");
  await page.getByRole("button", { name: "Enable" }).click();
  await expect(row.locator(".pe-user")).toContainText("viewer");
  await expect(page.getByRole("region", { name: "Tokens of emil" })).toContainText("2 old tokens");
});

test("a rule says how many sessions it concerns before it is set", async ({ page, team, enter }) => {
  const wish = { pattern: "letters", visibility: "team" };
  const { sessions } = await team.ask<{ sessions: number }>("ada", "/api/rules/preview", wish);
  await enter("ada");
  await page.goto("/people");
  const rules = page.getByRole("region", { name: /^Rules for projects/ });
  await rules.getByLabel("Pattern").fill("letters");
  await rules.getByRole("button", { name: "Set the rule…" }).click();
  const dialog = page.getByRole("dialog", { name: "Share these sessions?" });
  await expect(dialog).toContainText(`The team will see ${sessions} session`);
  await dialog.getByRole("button", { name: "Set it" }).click();
  await expect(page.getByText(`The rule for letters was set; ${sessions} session`)).toBeVisible();
  const rule = rules.getByRole("listitem").filter({ hasText: "letters" });
  await expect(rule).toHaveText(/letters.*shared/);
  await rules.getByRole("button", { name: "Remove the rule letters" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove it" }).click();
  await expect(rule).toHaveCount(0);
});

test("a machine is given to somebody, and back", async ({ page, enter }) => {
  await enter("ada");
  await page.goto("/people");
  const machine = page
    .getByRole("region", { name: /^Machines/ })
    .getByRole("listitem")
    .filter({ hasText: "(ada)" });
  await expect(machine).toContainText(/\d sessions?/);
  for (const [person, said] of [
    [
      "vera",
      "will belong to vera, and so will everything it pushes later. ada will see only those that are shared.",
    ],
    ["ada", "will belong to ada"],
  ] as const) {
    await machine.getByRole("button", { name: /^Assign/ }).click();
    const dialog = page.getByRole("dialog", { name: "Whose machine is this?" });
    await dialog.getByLabel("Person").selectOption(person);
    await expect(dialog.getByRole("status")).toContainText(said);
    await dialog.getByRole("button", { name: "Assign" }).click();
    await expect(machine).toContainText(person);
  }
});

test("a member sees names, their own account and no more", async ({ page, enter }) => {
  await enter("ben");
  await page.goto("/people?person=ada");
  await expect(page.getByText("Ada Brook")).toBeVisible();
  await expect(page.getByText("ada@example.org")).toHaveCount(0);
  await expect(page.locator("details")).toHaveCount(1);
  for (const name of ["Add someone", "Set the rule…", "Disable…", /^Assign/, /^Remove/])
    await expect(page.getByRole("button", { name })).toHaveCount(0);
  await page.locator("summary").click();
  await expect(page).toHaveURL("/people?person=ben");
  await expect(page.getByRole("region", { name: "Tokens of ben" })).toContainText("ben’s laptop");
  await expect(page.getByLabel("Role")).toHaveCount(0);
});

test("People and Audit are in the palette", async ({ page, enter }) => {
  await enter("vera");
  await page.goto("/usage");
  await expect(page.getByRole("button", { name: "Account: vera" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or jump to" }).fill(">people");
  await expect(page.getByRole("dialog").getByRole("option", { selected: true })).toContainText("People");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL("/people");
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await expect(page).toHaveURL("/audit");
});

test("what cannot be listed says so", async ({ page, enter, expected }) => {
  expected.push(/500/);
  await enter("ada");
  await page.route("**/api/users", (route) =>
    route.fulfill({
      status: 500,
      json: { error: { code: "broken", message: "It is broken.", details: [], request_id: null } },
    }),
  );
  await page.goto("/people");
  await expect(page.getByRole("alert")).toContainText("The people could not be listed. It is broken.");
  await page.unroute("**/api/users");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("Vera Lind")).toBeVisible();
});

aloneTest("without accounts nothing is there of it but how to begin", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await alone(page.getByRole("link", { name: "People" })).toHaveCount(0);
  await alone(page.getByRole("button", { name: /^Account/ })).toHaveCount(0);
  await page.goto("/problems");
  await page.getByRole("link", { name: "Set up a team" }).click();
  await alone(page).toHaveURL("/people");
  await alone(page.getByRole("heading", { level: 1 })).toHaveText("This archive is yours alone.");
  await alone(page.getByText("turnlog users add NAME --role admin --token")).toBeVisible();
  alone(await findViolations(page)).toEqual([]);
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page, enter }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await enter("ada");
    await page.goto("/people?person=ben");
    await expect(page.getByRole("region", { name: "Tokens of ben" })).toContainText("ben’s laptop");
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "New token…" }).click();
    await expect(page.getByRole("dialog")).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findViolations(page)).toEqual([]);
    expect(await widthOf(page)).toBe(390);
  });
}
