import { STORY } from "../fixture/archive";
import { buildCards } from "../fixture/board";
import { buildAnswer, textBlock } from "../fixture/builders";
import { expect, test } from "./page";

const title = (name: string) => ({ title: name });

test("two tabs share one stream, and both see what changes", async ({ page, context, fixture }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await expect.poll(() => fixture.feed.open).toBe(1);
  const other = await context.newPage();
  await other.goto("/sessions");
  await other.getByText("One hundred thousand").waitFor();
  fixture.change(STORY, title("Renamed while both look"));
  await expect(other.getByText("Renamed while both look")).toBeVisible();
  await expect(page.getByText("Renamed while both look")).toBeVisible();
  expect(fixture.feed.opened).toHaveLength(1);

  // The tab that has the stream goes; the other one takes over, on from what it was told last.
  await page.close();
  await expect.poll(() => fixture.feed.opened.length).toBe(2);
  await expect.poll(() => fixture.feed.open).toBe(1);
  expect(fixture.feed.opened[1]).toMatch(/^first:\d+$/);
  fixture.change(STORY, title("Renamed again"));
  await expect(other.getByText("Renamed again")).toBeVisible();
});

test("a stream that is cut goes on without a gap, and nobody is worried", async ({
  page,
  fixture,
  expected,
}) => {
  expected.push(/ERR_INCOMPLETE|503/);
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await expect.poll(() => fixture.feed.open).toBe(1);
  fixture.feed.refusing = 503;
  fixture.feed.cut();
  await expect.poll(() => fixture.feed.opened.length).toBeGreaterThan(1);
  fixture.change(STORY, title("Renamed in between"));
  fixture.feed.refusing = null;
  await expect(page.getByText("Renamed in between")).toBeVisible();
  expect(fixture.feed.opened.at(-1)).toBe("first:0");
  await expect(page.getByText("The server went away.")).toHaveCount(0);
});

test("after the server was started again, everything is asked for once", async ({
  page,
  fixture,
  expected,
}) => {
  expected.push(/ERR_CONNECTION|Failed to load|ERR_INCOMPLETE/);
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await expect.poll(() => fixture.feed.open).toBe(1);
  await fixture.stop();
  // Nobody asks for anything: the stream alone tells that the server is gone.
  await expect(page.getByText("The server went away.")).toBeVisible();
  fixture.feed.startAnew();
  fixture.sessions = fixture.sessions.map((item) =>
    item.key === STORY ? { ...item, title: "After it" } : item,
  );
  await fixture.start();
  await expect(page.getByText("The server went away.")).toHaveCount(0);
  await expect(page.getByText("After it")).toBeVisible();
  await expect.poll(() => fixture.feed.open).toBe(1);
  fixture.change(STORY, title("And live again"));
  await expect(page.getByText("And live again")).toBeVisible();
});

test("nothing is asked for that did not change", async ({ page, fixture }) => {
  await page.goto(`/sessions/${STORY}`);
  await page
    .getByRole("article", { name: /^You, / })
    .first()
    .waitFor();
  await expect.poll(() => fixture.feed.open).toBe(1);
  await page.waitForLoadState("networkidle");
  const before = fixture.requests.length;
  fixture.change("s-9", title("Far away"));
  fixture.change(STORY, title("Right here"));
  await expect(page.getByRole("heading", { level: 1, name: "Right here" }).first()).toBeVisible();
  const asked = fixture.requests.slice(before);
  expect(asked.filter((path) => path.includes("s-9"))).toEqual([]);
  expect(asked.filter((path) => path === "/api/projects?sort=sessions")).toEqual([]);
});

test("a session that grows is told of, also while it is read", async ({ page, fixture }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await expect.poll(() => fixture.feed.open).toBe(1);
  const session = fixture.sessions.find((item) => item.key === "s-5");
  expect(session).toBeDefined();
  fixture.append("s-5", [buildAnswer(3, [textBlock("It goes on.")], 0)]);
  await expect(page.locator('[data-session="s-5"]')).toBeVisible();
  await page.goto("/sessions/s-5");
  await expect(page.getByText("It goes on.")).toBeVisible();
});

test("where the browser knows no locks, a tab has its own stream", async ({ page, fixture }) => {
  await page.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, "locks", { value: undefined, configurable: true });
    Reflect.deleteProperty(Navigator.prototype, "locks");
  });
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await expect.poll(() => fixture.feed.open).toBe(1);
  fixture.change(STORY, title("Without locks"));
  await expect(page.getByText("Without locks")).toBeVisible();
});

test("where there is no stream, the page asks by itself", async ({ page, fixture, expected }) => {
  expected.push(/503/);
  fixture.feed.refusing = 503;
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  fixture.change(STORY, title("Asked for"));
  await expect(page.getByText("Asked for")).toBeVisible();
  await expect(page.getByText("The server went away.")).toHaveCount(0);
});

test("on a slow machine a storm of changes ends in what is true", async ({ page, fixture }) => {
  fixture.cards = buildCards(Date.now());
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: 6 });
  await page.goto("/mission-control");
  await page.getByRole("heading", { level: 1, name: "Two sessions need you." }).waitFor();
  await expect.poll(() => fixture.feed.open).toBe(1);
  for (let n = 0; n < 300; n += 1) {
    fixture.deliver("b-test", { column: n % 2 === 0 ? "needs_you" : "working", why: "permission", turns: n });
    fixture.change(STORY, title(`Storm ${n}`));
  }
  fixture.deliver("b-push", { column: "done", why: "turn_ended", since: new Date().toISOString() });
  await expect(page.getByRole("heading", { level: 1 })).toContainText("One session needs you.");
  await expect(page.locator('[data-card="b-test"]')).toContainText("299 turns");
  const boards = fixture.requests.filter((path) => path === "/api/mission-control").length;
  expect(boards).toBeLessThan(60);
});
