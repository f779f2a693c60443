/** Pictures of every page for docs/, on the real server with its sample sessions: `make screenshots`. */

import { writeFile } from "node:fs/promises";

import { type Page, expect, test } from "@playwright/test";

import { findAfternoon } from "./afternoon";
import { type Demo, serveDemo, stopDemo } from "./demo-server";
import { shrink } from "./png";

const TO = process.env["PICTURES"];
const SIZE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
/** The sample session with the most to see. */
const SESSION = "Fix week numbers around New Year";

test.skip(TO === undefined, "pictures are made when asked for");
test.describe.configure({ mode: "serial" });
test.setTimeout(300_000);

const patient = expect.configure({ timeout: 60_000 });

let demo: Demo;
let entry: string | null = null;

test.beforeAll(async () => {
  demo = await serveDemo();
});
test.afterAll(async () => {
  await stopDemo(demo);
});

/** A picture of what stands still: all that was asked for is there, and two looks see the same. */
async function shoot(page: Page, name: string, scheme: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.fonts.ready);
  await patient(page.locator(".sk")).toHaveCount(0);
  let before: Buffer = Buffer.alloc(0);
  const stands = async () => {
    const now = await page.screenshot({ animations: "disabled", caret: "hide" });
    const same = now.equals(before);
    before = now;
    return same;
  };
  await patient.poll(stands).toBe(true);
  await writeFile(`${TO}/${name}-${scheme}.png`, shrink(before));
}

for (const scheme of ["light", "dark"] as const) {
  test(scheme, async ({ browser }) => {
    const context = await browser.newContext({
      viewport: SIZE,
      colorScheme: scheme,
      timezoneId: findAfternoon(),
      reducedMotion: "reduce",
      ...(entry === null ? {} : { storageState: JSON.parse(entry) as never }),
    });
    const page = await context.newPage();
    if (entry === null) await page.goto(demo.address);
    await page.goto(new URL("/sessions", demo.address).href);
    await patient(page.getByText(SESSION).first()).toBeVisible();
    entry = JSON.stringify(await context.storageState());
    const go = (path: string) => page.goto(new URL(path, demo.address).href);

    await go("/sessions");
    await patient(page.getByText(SESSION).first()).toBeVisible();
    for (let n = 0; n < 3; n += 1) await page.keyboard.press("j");
    await shoot(page, "sessions", scheme);

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search or jump to" }).fill("week");
    await patient(page.getByRole("group", { name: "Messages" }).locator("mark").first()).toBeVisible();
    await shoot(page, "palette", scheme);
    await page.keyboard.press("Escape");

    await go("/mission-control");
    await patient(page.locator("main h1, main h2").first()).toBeVisible();
    await shoot(page, "mission-control", scheme);

    await go("/search?q=week&order=relevance");
    await patient(page.locator(".hit").nth(3)).toBeVisible();
    // The second hit is the title, around which there is nothing.
    for (let n = 0; n < 2; n += 1) await page.keyboard.press("ArrowDown");
    await patient(page.locator(".pv [data-target]")).toBeVisible();
    await shoot(page, "search", scheme);

    await go("/usage?range=all");
    await patient(page.getByRole("table", { name: "By tool" })).toBeVisible();
    await shoot(page, "usage", scheme);

    await go("/problems");
    await patient(page.getByRole("heading", { level: 1 })).toBeVisible();
    // The demo's own place is another one each time.
    await page.locator(".facts code[title]").evaluate((place) => {
      place.textContent = "~/.local/share/turnlog/turnlog.db";
    });
    await shoot(page, "problems", scheme);

    await go("/sessions");
    await page.getByText(SESSION).first().click();
    await patient(page.getByRole("article").nth(1)).toBeVisible();
    await page.keyboard.press("J");
    await shoot(page, "conversation", scheme);
    const address = page.url();

    await go("/actions");
    await page.locator("main").getByText(SESSION).first().click();
    await patient(page.locator("main").getByText("pytest").first()).toBeVisible();
    await shoot(page, "actions", scheme);

    await page.setViewportSize(PHONE);
    await page.goto(address);
    await patient(page.getByRole("article").first()).toBeVisible();
    await shoot(page, "phone", scheme);
    await context.close();
  });
}
