/** What was gone to is in sight, and stays there, however slow the machine is. */

import type { Page } from "@playwright/test";

import { LONG_SESSION } from "../fixture/archive";
import { longMessage } from "../fixture/long";
import { expect, test } from "./page";

const pathTo = (index: number) => `/sessions/${LONG_SESSION}/messages/${longMessage(index).uuid}`;

/** Scroll events come with the next frame; on a machine that draws none for a while they come that much later. */
async function delayScrollEvents(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const late = new WeakSet<Event>();
    window.addEventListener(
      "scroll",
      (event) => {
        if (late.has(event) || !(event.target instanceof Element)) return;
        event.stopImmediatePropagation();
        const { target } = event;
        setTimeout(() => {
          const again = new Event("scroll");
          late.add(again);
          target.dispatchEvent(again);
          document.documentElement.dataset["late"] = "come";
        }, 700);
      },
      { capture: true },
    );
  });
}

for (const index of [77_777, 5, 99_998]) {
  test(`message ${index} is shown though scroll events are late`, async ({ page, fixture }) => {
    await delayScrollEvents(page);
    await page.goto(pathTo(index));
    const row = page.locator("[data-current]");
    await expect(row).toHaveAttribute("data-row", new RegExp(`^${index}-`));
    await expect(row).toBeInViewport();
    // The late events have come, with all that they led to, and it is still there.
    if (index > 1000) await expect(page.locator("html")).toHaveAttribute("data-late", "come");
    await expect(page.locator(".fl-row").nth(4)).toBeVisible();
    await expect(row).toBeInViewport();
    const windows = fixture.requests.filter((path) => path.includes("/timeline?"));
    const looked = windows.map((path) => new URL(path, "http://x").searchParams.get("around"));
    expect(looked).toContain(longMessage(index).uuid);
    // Nobody has looked at the beginning, so nothing was loaded there.
    if (index > 1000) expect(looked.filter((place) => place !== null && Number(place) < 1000)).toEqual([]);
  });
}

test("it stays while heights are measured and messages come in above, until one scrolls", async ({ page }) => {
  await page.goto(pathTo(50_001));
  const row = page.locator('[data-row^="50001-"]').first();
  await expect(row).toBeInViewport();
  const top = () => row.evaluate((element) => Math.round(element.getBoundingClientRect().top));
  const before = await top();
  await page.setViewportSize({ width: 1000, height: 700 });
  await expect.poll(top).toBe(before);
  await page.locator(".scroll").hover();
  await page.mouse.wheel(0, 5000);
  await expect(row).not.toBeInViewport();
});
