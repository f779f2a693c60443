import { HOSTILE } from "../fixture/archive";
import { findViolations, widthOf } from "./axe";
import { expect, test } from "./page";
import { patient, slowDown } from "./slow";

test.beforeEach(({ fixture }) => {
  fixture.care.flawed = ["s-3", HOSTILE];
});

test("what validation found stands by session, with its lines", async ({ page }) => {
  await page.goto("/sessions");
  await page.getByText("One hundred thousand").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await expect(page).toHaveURL("/problems");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("2 sessions have problems.");
  await expect(page.getByRole("navigation", { name: "Pages" }).first()).toContainText("Problems2");
  const found = page.getByRole("region", { name: "What validation found" });
  await found.getByText("Light the lamp at dusk").click();
  await expect(found).toContainText("unknown-type");
  await expect(found).toContainText("hologram <script>alert(1)</script>");
  await expect(found.locator("code").first()).toContainText(".jsonl:12");
  await found.getByRole("link", { name: "Read it" }).click();
  await expect(page).toHaveURL("/sessions/s-3");
});

test("forgetting says first what goes, asks, and can be allowed again", async ({ page, fixture }) => {
  await page.goto("/problems");
  const kept = page.getByRole("region", { name: "Deleted by Claude Code, kept here" });
  await kept.getByRole("button", { name: "Forget…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Forget this session?" });
  await expect(dialog).toContainText("3 files (128 kB) and 4 hook deliveries");
  await expect(dialog).toContainText("It exists nowhere else and would be lost for good.");
  await expect(dialog).toContainText("/mnt/backup/turnlog-2026-11-01.db");
  await expect(page).toHaveURL(/\/problems\?forget=/);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);
  expect(fixture.care.deeds).toEqual([]);

  await kept.getByRole("button", { name: "Forget…" }).first().click();
  await dialog.getByRole("button", { name: "Forget it" }).click();
  await expect(page.getByText(/has been forgotten\.$/)).toBeVisible();
  await expect(dialog).toHaveCount(0);
  const forgotten = page.getByRole("region", { name: "Forgotten" });
  await forgotten.getByRole("button", { name: "Allow again" }).click();
  await expect(forgotten).toHaveCount(0);
  expect(fixture.care.deeds).toEqual(["forget s-7", "allow s-7"]);
});

test("restoring shows the files, then writes them", async ({ page, fixture }) => {
  await page.goto("/problems");
  await page.getByRole("button", { name: "Restore…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Restore this session for Claude Code?" });
  await expect(dialog).toContainText("This writes 1 file, byte for byte as before");
  await expect(dialog.locator("code")).toContainText("/home/ada/.claude/projects/x/");
  expect(fixture.care.deeds).toEqual([]);
  await dialog.getByRole("button", { name: "Write the files" }).click();
  await expect(page.getByText(/^1 file of .* written\.$/)).toBeVisible();
  expect(fixture.care.deeds).toEqual(["restore s-7"]);
});

test("an address asks, too, and Escape leads back", async ({ page }) => {
  await page.goto("/problems?restore=s-30");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL("/problems");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("a check shows how far it is, and how it ended", async ({ page }) => {
  await page.goto("/problems");
  await page.getByRole("button", { name: "Check everything" }).click();
  await expect(page.getByRole("progressbar")).toBeVisible();
  await expect(page.getByText(/of 60 sessions/)).toBeVisible();
  await expect(page.getByText(/Everything is as it should be/)).toBeVisible();
  await expect(page.getByRole("progressbar")).toHaveCount(0);
});

test("what a check found is listed", async ({ page, fixture }) => {
  fixture.care.verify = {
    ...fixture.care.start(),
    state: "found",
    found: 201,
    findings: [
      { session: "s-3", subject: "lines", path: "/x/<b>.jsonl", message: "expected 12 lines, got 11" },
    ],
  };
  await page.goto("/problems");
  await expect(page.getByText("201 differences found.")).toBeVisible();
  await expect(page.getByText("/x/<b>.jsonl")).toBeVisible();
  await expect(page.getByText("and 200 more")).toBeVisible();
});

test("what Claude Code deletes soon says what is not archived yet", async ({ page }) => {
  await page.goto("/problems");
  const soon = page.getByRole("region", { name: "About to be deleted by Claude Code" });
  await expect(soon).toContainText("Claude Code deletes sessions after 30 days.");
  await expect(soon).toContainText("12 kB not archived yet");
});

test.describe("with nothing wrong", () => {
  test.use({ sessions: 0 });
  test("it says so", async ({ page, fixture }) => {
    fixture.care.flawed = [];
    await page.goto("/problems");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("No problems.");
    await expect(page.getByText("Nothing needs attention.")).toBeVisible();
  });
});

test("on a slow machine a dialog still tells before it does", async ({ page, fixture }) => {
  test.slow();
  await slowDown(page);
  await page.goto("/problems?forget=s-7");
  await patient(page.getByRole("dialog")).toContainText("3 files");
  await page.getByRole("button", { name: "Forget it" }).click();
  await patient.poll(() => fixture.care.deeds).toEqual(["forget s-7"]);
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.goto("/problems");
    await page.getByText("Light the lamp at dusk").first().click();
    await expect(page.getByText("malformed")).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Restore…" }).first().click();
    await expect(page.getByRole("dialog")).toContainText("byte for byte");
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findViolations(page)).toEqual([]);
    expect(await widthOf(page)).toBe(390);
  });
}
