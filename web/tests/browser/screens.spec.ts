/** Pictures of every page, for eyes: `SCREENS=dir npx playwright test screens`. */

import { STORY } from "../fixture/archive";
import { test } from "./page";

const TO = process.env["SCREENS"];
const SIZES = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

test.skip(TO === undefined, "pictures are made when asked for");

for (const scheme of ["light", "dark"] as const) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    test(`${scheme} ${size}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize(viewport);
      const shoot = (name: string) => page.screenshot({ path: `${TO}/${name}-${size}-${scheme}.png` });
      await page.goto("/sessions");
      await page.getByText("Strike out sailings").first().waitFor();
      if (size === "desk") for (let n = 0; n < 3; n += 1) await page.keyboard.press("j");
      await shoot("sessions");
      await page.goto(`/sessions/${STORY}`);
      await page.locator(".flow").getByText("I’ll look at the pending").waitFor();
      await page.waitForTimeout(300);
      await shoot("conversation");
      await page.keyboard.press("J");
      for (const name of ["pytest", "source .venv"])
        await page.locator("summary", { hasText: name }).first().click();
      await page.waitForTimeout(300);
      await shoot("conversation-open");
      await page.keyboard.press("J");
      for (const name of ["TodoWrite", "Edit", "get-docs"])
        await page.locator("summary", { hasText: name }).first().click();
      await page.waitForTimeout(300);
      await shoot("conversation-edits");
      await page.keyboard.press("e");
      await page.waitForTimeout(300);
      await shoot("conversation-end");
    });
  }
}

test.describe("with nothing", () => {
  test.use({ sessions: 0 });
  test("empty", async ({ page }) => {
    await page.goto("/");
    await page.getByText("Nothing kept yet").waitFor();
    await page.screenshot({ path: `${TO}/empty-desk-light.png` });
  });
});
