/** What lines report that are neither prompts nor answers, and what is not for readers. */

import { REPORTS } from "../fixture/archive";
import { METADATA } from "../fixture/reports";
import { expect, test } from "./page";

test("rows say what happened, and what a compaction kept is there", async ({ page }) => {
  await page.goto(`/sessions/${REPORTS}`);
  const flow = page.locator(".flow");
  await expect(flow).toContainText("It rings.");
  for (const text of ["building 40%", "Hook lint-check started (PreToolUse)", "Snapshot of 1 file: bell.py"]) {
    await expect(page.locator(".sys", { hasText: text })).toHaveCount(1);
  }
  await expect(page.locator(".cmp .hd b")).toHaveText(["Context compacted", "Conversation restored"]);
  await expect(page.locator(".think", { hasText: "Kept from before" })).toContainText("The bell hangs");
  await page.locator(".think", { hasText: "Summary of what came before" }).locator("summary").click();
  await expect(flow.locator(".inner")).toContainText("We looked for the bell.");
  await expect(page.locator(".sys", { hasText: "/ring" }).locator("b")).toHaveText("Command");
  await expect(page.locator(".err")).toContainText("The rope is gone.");
});

test("at level All there is also what happened to the queue, and how long turns took", async ({ page }) => {
  await page.goto(`/sessions/${REPORTS}`);
  const meanwhile = page.locator(".sys", { hasText: "Turn took 5.0 s" });
  await expect(page.locator(".flow")).toContainText("It rings.");
  await expect(meanwhile).toHaveCount(0);
  await page.keyboard.press("3");
  await expect(meanwhile).toContainText("Queued: and at six · Turn took 5.0 s");
  await page.keyboard.press("1");
  await expect(meanwhile).toHaveCount(0);
});

test("metadata is not shown, unless its address is asked for", async ({ page }) => {
  await page.goto(`/sessions/${REPORTS}`);
  await expect(page.locator(".flow")).toContainText("It rings.");
  await expect(page.getByText("config loaded")).toHaveCount(0);
  const uuid = `00000000-0000-4000-8000-${METADATA.toString(16).padStart(12, "0")}`;
  await page.goto(`/sessions/${REPORTS}/messages/${uuid}`);
  await expect(page.getByText("config loaded")).toBeInViewport();
  await expect(page.locator("[data-current]")).toContainText("Metadata");
});
