import { type Page, expect, test } from "@playwright/test";

import { type Demo, serveDemo, stopDemo } from "./demo-server";

const shared = test.extend<{ errors: string[] }, { demo: Demo }>({
  demo: [
    async ({}, use) => {
      const demo = await serveDemo();
      await use(demo);
      expect(await stopDemo(demo)).toBe(0);
    },
    { scope: "worker" },
  ],
  errors: async ({ page }, use) => {
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    await use(errors);
    expect(errors).toEqual([]);
  },
});

async function open(page: Page, demo: Demo): Promise<void> {
  // Somebody waits in one of the samples: that comes first.
  await page.goto(demo.address);
  await expect(page).toHaveURL(/\/mission-control$/, { timeout: 30_000 });
  await page.getByRole("link", { name: "Sessions", exact: true }).first().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sessions 8", { timeout: 30_000 });
}

shared("a fresh machine shows the sample sessions", async ({ page, demo, errors }) => {
  await open(page, demo);
  for (const title of ["Fix week numbers around New Year", "日本語の文言を確認", "Release notes for 2.4"])
    await expect(page.getByText(title).first()).toBeVisible();
  await page.getByText("Fix week numbers around New Year").first().click();
  await expect(page.getByRole("article").getByText("The function pairs the year of the")).toBeVisible();
  await expect(page.getByRole("article").getByText("Six labels in two old exports are wrong.")).toBeAttached();
  expect(errors).toEqual([]);

  // The one-time address has been used; whoever has it now is not let in.
  const stranger = await page.context().browser()?.newContext();
  const answer = await stranger?.request.get(demo.address, { maxRedirects: 0 });
  expect(answer?.status()).toBe(401);
  await stranger?.close();
});
