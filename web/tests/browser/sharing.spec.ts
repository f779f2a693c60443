import { findViolations, widthOf } from "./axe";
import { expect, test } from "./team-page";

test("whoever may not change it is told who sees it, and why", async ({ page, team, enter }) => {
  await enter("vera");
  await page.goto(`/sessions/${team.keys.benShared}`);
  await expect(page.getByRole("complementary", { name: "Session and turns" })).toContainText("ben, shared");
  await expect(page.getByRole("button", { name: "Star" })).toHaveCount(0);
  await page.getByRole("button", { name: "Share…" }).click();
  const dialog = page.getByRole("dialog", { name: "Share" });
  await expect(dialog).toContainText("The whole team sees it: ben’s choice.");
  await expect(dialog).toContainText("Only ben and admins can change that.");
  await expect(dialog.getByRole("radio")).toHaveCount(0);
  await expect(dialog.getByRole("button")).toHaveText(["Done"]);
});

test("several sessions are shared at once, by keys alone", async ({ page, team, enter }) => {
  test.setTimeout(120_000);
  const sessions = [await team.add("ben", "Sort the oars"), await team.add("ben", "Tar the sorted hull")];
  await enter("ben");
  await page.goto("/sessions?text=sort");
  await expect(page.getByText("Sort the oars").first()).toBeVisible();
  await expect(page.getByText("Tar the sorted hull").first()).toBeVisible();
  for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
  await page.getByRole("group", { name: "Selected sessions" }).getByRole("button", { name: "Share…" }).click();
  const dialog = page.getByRole("dialog", { name: "Share" });
  await expect(dialog).toContainText("2 sessions");
  await dialog.getByRole("radio", { name: "Share with the team" }).focus();
  await page.keyboard.press("Space");
  await dialog.getByRole("button", { name: "Change" }).click();
  await expect(dialog.getByRole("status")).toHaveText("Changed for 2 sessions.");
  for (const { key } of sessions) await team.ask("vera", `/api/sessions/${key}`);
});

test("an admin sees whose it is by which rule, and axe finds nothing", async ({ page, team, enter }) => {
  test.setTimeout(120_000);
  const session = await team.add("ben", "Paint the boathouse", "/srv/boathouse");
  await team.ask("ada", "/api/rules", { pattern: "*/boathouse", visibility: "team" }, "PUT");
  await enter("ada");
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width: 1280, height: 844 });
    await page.goto("/sessions");
    await expect(page.getByText(session.title).first()).toBeVisible();
    expect(await findViolations(page)).toEqual([]);
    await page.goto(`/sessions/${session.key}`);
    await expect(page.getByRole("button", { name: "Share…" })).toBeVisible();
    await page.keyboard.press("Shift+S");
    const dialog = page.getByRole("dialog", { name: "Share" });
    await expect(dialog).toContainText("The whole team sees it, by the rule */boathouse.");
    await dialog.getByRole("button", { name: "New link…" }).click();
    await expect(dialog.getByRole("region", { name: "What the link shows" })).toContainText("2 messages");
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await widthOf(page)).toBe(390);
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
  }
  await team.ask("ada", "/api/rules", { pattern: "*/boathouse", visibility: null }, "PUT");
});
