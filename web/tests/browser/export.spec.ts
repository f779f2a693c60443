import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { type Page, expect, test } from "@playwright/test";

import { MARKDOWN, MARKUP } from "../fixture/hostile";

// A session as one HTML file, written by the program itself, opened from disk.

const run = promisify(execFile);
const ALL = [...MARKUP, ...MARKDOWN].join("\n\n");
const ESCAPES =
  "\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007 \u001b]0;title\u0007";

function line(type: string, uuid: string, content: unknown, more: object = {}): string {
  const said = {
    role: type,
    content,
    ...(type === "assistant" ? { id: `msg_${uuid}`, model: "claude-opus-5" } : {}),
  };
  const at = "2026-10-01T10:00:00.000Z";
  return JSON.stringify({
    type,
    uuid,
    sessionId: "5d1c",
    cwd: "/srv/shop",
    timestamp: at,
    message: said,
    ...more,
  });
}

function hostileSession(): string {
  const call = {
    type: "tool_use",
    id: "t1",
    name: MARKUP[0],
    input: { command: ALL, [MARKUP[1] ?? ""]: ESCAPES },
  };
  const shell = { type: "tool_use", id: "t2", name: "Bash", input: { command: `echo ${ESCAPES}` } };
  const answer = [{ type: "thinking", thinking: ALL }, { type: "text", text: ALL }, call, shell];
  const image = {
    type: "image",
    source: { type: "base64", media_type: "image/svg+xml", data: btoa(MARKUP[2] ?? "") },
  };
  const results = [
    { type: "tool_result", tool_use_id: "t1", content: ALL, is_error: true },
    { type: "tool_result", tool_use_id: "t2", content: [{ type: "text", text: `${ESCAPES}\n${ALL}` }, image] },
  ];
  return [
    line("user", `"><script>window.__run=20</script>`, ALL),
    line("assistant", "a1", answer),
    line("user", "r1", results),
    line("user", "p2", "A second prompt, about ordinary\u202e things"),
    line("assistant", "a2", [{ type: "text", text: "# Done\n\n- **one**\n- two\n\n```py\nprint('x')\n```" }]),
    JSON.stringify({ type: "custom-title", customTitle: MARKUP[0], sessionId: "5d1c" }),
  ].join("\n");
}

const exported = test.extend<{ address: string; complaints: string[]; opened: Page }>({
  address: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "turnlog-export-"));
    const [source, target] = [join(folder, "5d1c.jsonl"), join(folder, "page.html")];
    await writeFile(source, hostileSession() + "\n");
    const env = { ...process.env, HOME: folder, TURNLOG_HOME: join(folder, "turnlog") };
    await run("../.venv/bin/turnlog", ["export", source, "--format", "html", "--output", target], { env });
    await use(pathToFileURL(target).href);
    await rm(folder, { recursive: true, force: true });
  },
  complaints: async ({}, use) => {
    await use([]);
  },
  opened: async ({ page, address, complaints }, use) => {
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => complaints.push(dialog.message()));
    page.on("request", (request) => {
      if (request.url() !== address) complaints.push(`asked for ${request.url()}`);
    });
    await page.goto(address);
    await use(page);
    expect(complaints).toEqual([]);
    expect(await page.evaluate(() => "__run" in window)).toBe(false);
  },
});

exported("a hostile session is text in it: nothing runs, nothing is asked for", async ({ opened }) => {
  await opened.getByRole("button", { name: "Unfold all" }).click();
  await expect(opened.locator("article.human .prose").first()).toContainText(MARKUP[0] ?? "");
  await expect(opened.locator("details.call").first()).toContainText("failed");
  await expect(opened.getByText("javascript:window.__run=6").first()).toBeVisible();
  await expect(opened.locator("main a:not(.turn a), main img, main iframe, main svg, main script")).toHaveCount(
    0,
  );
  await expect(opened.getByText("ordinary\\u202e things")).toBeVisible();
  await expect(opened.locator("h1").first()).toHaveText(MARKUP[0] ?? "");
});

exported("it can be searched, folded and turned dark", async ({ opened }) => {
  const pieces = opened.locator("[data-piece]");
  const all = await pieces.count();
  await opened.keyboard.press("/");
  await opened.keyboard.type("second prompt");
  await expect(opened.locator("#told")).toHaveText(`1 of ${String(all)}`);
  await expect(pieces.filter({ visible: true })).toHaveCount(1);
  await opened.keyboard.press("Escape");
  await expect(pieces.filter({ visible: true })).toHaveCount(all);
  const paper = () => opened.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await paper();
  await opened.getByRole("button", { name: "Light or dark" }).click();
  expect(await paper()).not.toBe(before);
  await opened.getByRole("button", { name: "Unfold all" }).click();
  await expect(opened.locator("details:not([open])")).toHaveCount(0);
});

exported("on a phone nothing is wider than the screen", async ({ opened }) => {
  await opened.setViewportSize({ width: 360, height: 740 });
  await opened.getByRole("button", { name: "Unfold all" }).click();
  const excess = await opened.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(excess).toBeLessThanOrEqual(0);
});
