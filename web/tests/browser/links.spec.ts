import { findViolations, widthOf } from "./axe";
import { expect, test } from "./team-page";

/** A link that is no longer good is answered as one that never was, and the browser says it. */
const REFUSED = /status of (401|403|404|410)|ERR_INCOMPLETE_CHUNKED_ENCODING|net::ERR_/;
// Made up, in the form of a key; in two pieces, so that nobody takes it for a real one.
const SECRET = ["sk-ant-api03", "J8dK2mQx7vR4tY9wZ1bN6cF3hL5pS0aE"].join("-");

test("a stranger reads one session as it grows, without secrets, until the link is ended", async ({
  page,
  browser,
  team,
  enter,
}) => {
  test.setTimeout(120_000);
  const session = await team.add("ben", "Repair the lighthouse lens");
  await team.append(session, `The key of the lamp room is ${SECRET}, and Marlowe keeps it.`);
  await enter("ben");
  await page.goto(`/sessions/${session.key}`);
  await expect(page.locator(".flow").getByText(SECRET)).toBeVisible();
  await page.getByRole("button", { name: "Share…" }).click();
  const dialog = page.getByRole("dialog", { name: "Share" });
  await dialog.getByRole("button", { name: "New link…" }).click();

  // What it shows is shown before there is one.
  const shows = dialog.getByRole("region", { name: "What the link shows" });
  await expect(shows).toContainText(session.title);
  await expect(shows).toContainText("3 messages");
  await expect(shows).toContainText("1 token");
  await dialog.getByRole("textbox", { name: "Without" }).fill("Marlowe");
  await expect(shows).toContainText("1 word of your own");
  await dialog.getByRole("combobox", { name: "Valid for" }).selectOption("1 day");
  await dialog.getByRole("button", { name: "Create the link" }).click();
  const address = await dialog.getByRole("textbox", { name: "The link’s address" }).inputValue();
  expect(address).toMatch(/\/s\/tls_[\w-]{43}$/);

  // Somebody who has nothing but the address.
  const context = await browser.newContext();
  const stranger = await context.newPage();
  const asked: string[] = [];
  stranger.on("request", (request) => asked.push(request.url()));
  await stranger.goto(address);
  const flow = stranger.locator(".flow");
  await expect(flow.getByText("The key of the lamp room is")).toBeVisible();
  await expect(stranger.getByRole("banner")).toContainText("Shared by Ben Carey");
  await expect(stranger.locator("body")).not.toContainText("J8dK2mQx7vR4");
  await expect(stranger.locator("body")).not.toContainText("Marlowe");
  await expect(stranger.getByRole("button", { name: /Star|Export|Share|Find/ })).toHaveCount(0);
  await expect(stranger.getByRole("navigation", { name: "Pages" })).toHaveCount(0);
  const { origin, pathname } = new URL(address);
  const elsewhere = asked.filter(
    (url) =>
      !url.startsWith(address) &&
      !["/assets/", "/theme.js", "/favicon.svg"].some((path) => url.startsWith(origin + path)),
  );
  expect(elsewhere).toEqual([]);
  expect(await findViolations(stranger)).toEqual([]);

  await team.append(session, "The lens is clean again, and bright.");
  await expect(flow.getByText("The lens is clean again, and bright.")).toBeVisible();
  await expect(dialog.getByText(/opened 1 time/)).toBeVisible({ timeout: 30_000 });

  // Ended: at once, and nothing of it stays.
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(stranger.getByRole("heading", { level: 1 })).toHaveText("This link no longer works.");
  await expect(stranger.locator("body")).not.toContainText("lens");
  await expect(stranger).toHaveTitle("turnlog");
  await expect(dialog.getByText(/^by ben, revoked/)).toBeVisible();
  expect(await findViolations(stranger)).toEqual([]);
  await stranger.reload();
  await expect(stranger.getByRole("heading", { level: 1 })).toHaveText("This link no longer works.");
  await stranger.setViewportSize({ width: 390, height: 844 });
  expect(await widthOf(stranger)).toBe(390);
  // As one that never was.
  await stranger.goto(`${origin}${pathname.slice(0, -4)}nope`);
  await expect(stranger.getByRole("heading", { level: 1 })).toHaveText("This link no longer works.");
  await context.close();
});

test("a link ends with its session, which says before what goes with it", async ({
  page,
  browser,
  team,
  enter,
  expected,
}) => {
  test.setTimeout(120_000);
  expected.push(REFUSED);
  const session = await team.add("ben", "Forget the winter plan");
  const made = await team.ask<{ path: string }>("ben", "/api/links", { session: session.key, days: 1 });
  const context = await browser.newContext({ baseURL: team.url });
  const stranger = await context.newPage();
  await stranger.goto(made.path);
  await expect(stranger.locator(".flow").getByText("that is done").first()).toBeVisible();

  await enter("ben");
  await page.goto(`/sessions/${session.key}`);
  await page.getByRole("button", { name: "Share…" }).click();
  await page.getByRole("button", { name: "Delete it…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete this session?" });
  await expect(dialog).toContainText("This removes 1 file");
  await expect(dialog).toContainText("ends 1 link to it");
  const sure = dialog.getByRole("button", { name: "Delete it for good" });
  await expect(sure).toBeDisabled();
  await dialog.getByRole("textbox", { name: "Type delete to confirm" }).fill("delete");
  await sure.click();
  await expect(page).toHaveURL("/sessions");
  await expect(page.getByText("Mend the ferry timetable").first()).toBeVisible();
  await expect(page.getByText(session.title)).toHaveCount(0);
  await expect(stranger.getByRole("heading", { level: 1 })).toHaveText("This link no longer works.");
  await context.close();
});
