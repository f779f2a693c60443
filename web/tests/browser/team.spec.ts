import type { Browser, Page } from "@playwright/test";

import type { Member, Team } from "../fixture/team";
import { enterAs, expect, test } from "./team-page";

/** What is not there for somebody is answered so, and the browser says it. */
const NOT_FOUND = /status of 404/;

/** A browser of somebody else's. */
async function pageOf(browser: Browser, team: Team, who: Member): Promise<Page> {
  const context = await browser.newContext({ baseURL: team.url });
  const page = await context.newPage();
  await enterAs(page, team, who);
  return page;
}

async function choose(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name: "Share" });
  await dialog.getByRole("radio", { name }).click(); // it is checked when the server has said so
  await expect(dialog.getByRole("status").first()).toContainText(
    name === "Private" ? "Only you and admins see it: your choice." : "The whole team sees it: your choice.",
  );
}

test("a session is seen by nobody else, then by all, then by nobody else again, while they look", async ({
  page,
  browser,
  team,
  enter,
  expected,
}) => {
  test.setTimeout(120_000);
  expected.push(NOT_FOUND);
  const session = await team.add("ben", "Count the quiet herons");
  await enter("ben");
  const [list, reader] = await Promise.all([pageOf(browser, team, "vera"), pageOf(browser, team, "vera")]);

  // Nowhere, and as if there were no such session.
  await list.goto("/sessions");
  await expect(list.getByText("Draw the tide table").first()).toBeVisible();
  await expect(list.getByText(session.title)).toHaveCount(0);
  await reader.goto("/sessions/0123456789abcdef");
  await expect(reader.getByRole("alert")).toBeVisible();
  const unknown = await reader.getByRole("main").innerText();
  await reader.goto(`/sessions/${session.key}`);
  await expect(reader.getByRole("alert")).toBeVisible();
  expect(await reader.getByRole("main").innerText()).toBe(unknown);
  await reader.goto("/search?q=herons");
  await expect(reader.getByText("No matches.")).toBeVisible();
  await reader.goto("/mission-control");
  await expect(reader.getByRole("main")).toBeVisible();
  await expect(reader.getByText(session.title)).toHaveCount(0);
  await reader.goto(`/sessions/${session.key}`);
  await expect(reader.getByRole("alert")).toBeVisible();

  // He shares it: it comes to those who look.
  await page.goto(`/sessions/${session.key}`);
  await page.getByRole("button", { name: "Share…" }).click();
  await expect(page.getByRole("dialog")).toContainText(
    "Only you and admins see it: no rule matches its project.",
  );
  await choose(page, "Share with the team");
  await expect(list.getByText(session.title).first()).toBeVisible();
  await expect(list.getByRole("row", { name: new RegExp(session.title) })).toContainText("ben");
  await expect(reader.locator(".flow").getByText("that is done").first()).toBeVisible();
  await expect(reader.locator(".prompt").first()).toContainText("ben");

  // What he adds comes, too.
  await team.append(session, "Seven herons, all of them quiet.");
  await expect(reader.getByText("Seven herons, all of them quiet.")).toBeVisible();

  // Private again: it goes, also from the page that shows it.
  await choose(page, "Private");
  await expect(reader.getByRole("alert")).toBeVisible();
  await expect(reader.getByText("herons")).toHaveCount(0);
  await expect(list.getByText(session.title)).toHaveCount(0);
  await expect(reader).not.toHaveTitle(/herons/);
  expect(await reader.getByRole("main").innerText()).toBe(unknown);
  await expect(page.locator(".flow").getByText("Seven herons, all of them quiet.")).toBeVisible();
  await Promise.all([list.context().close(), reader.context().close()]);
});

test("lists, search, mission control and usage say whose it is, and can be narrowed down by it", async ({
  page,
  team,
  enter,
}) => {
  test.setTimeout(120_000);
  const session = await team.add("ben", "Oil the attic door");
  await enter("ada");
  await page.goto("/sessions");
  const filters = page.getByRole("complementary", { name: "Narrow down" });
  await expect(page.getByRole("row", { name: new RegExp(session.title) })).toContainText("ben");
  // By key: where it stands may change meanwhile, as what was added just now is counted.
  await filters.getByRole("button", { name: /^ada/ }).first().press("Enter");
  await expect(page).toHaveURL(/person=ada/);
  await expect(page.getByText("Draw the tide table").first()).toBeVisible();
  await expect(page.getByText(session.title)).toHaveCount(0);
  await page.goto("/sessions?person=ben&visibility=team");
  await expect(page.getByText("Mend the ferry timetable").first()).toBeVisible();
  await expect(page.getByText(session.title)).toHaveCount(0);

  await page.goto("/search?q=please");
  await expect(page.getByText("Draw the tide table").first()).toBeVisible();
  await page.getByRole("button", { name: "person", exact: true }).click();
  await page.getByRole("option", { name: "person ben" }).click();
  await expect(page).toHaveURL(/person%3Aben|person:ben/);
  await expect(page.getByRole("main").getByText(session.title).first()).toBeVisible();
  await expect(page.getByText("Draw the tide table")).toHaveCount(0);

  await page.goto("/mission-control?by=person");
  await expect(page.getByRole("region", { name: "ben" }).getByText(session.title)).toBeVisible();
  await page.getByRole("combobox", { name: "Person" }).selectOption("ben");
  await expect(page).toHaveURL(/person=ben/);
  await expect(page.getByRole("region", { name: "ben" }).getByText(session.title)).toBeVisible();

  await page.goto("/usage?by=person");
  const table = page.getByRole("table", { name: "By person" });
  await expect(table.getByRole("row", { name: /^ben/ })).toBeVisible();
  await expect(table.getByRole("row", { name: /^ada/ })).toBeVisible();
  await expect(page.getByRole("table", { name: "By project and person" })).toContainText("website");
  await page.getByRole("button", { name: "Machine", exact: true }).click();
  await expect(page.getByRole("table", { name: "By machine" })).toBeVisible();
});
