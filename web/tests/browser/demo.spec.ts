import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { type Page, expect, test } from "@playwright/test";

// The real server, as a stranger meets it: an empty home, and nothing but the demo.

interface Demo {
  readonly address: string;
  readonly process: ChildProcess;
  readonly home: string;
}

async function serveDemo(): Promise<Demo> {
  const home = await mkdtemp(join(tmpdir(), "turnlog-page-"));
  const child = spawn("../.venv/bin/turnlog", ["serve", "--demo", "--no-browser", "--json", "--port", "0"], {
    env: {
      ...process.env,
      HOME: home,
      TURNLOG_HOME: join(home, "turnlog"),
      CLAUDE_CONFIG_DIR: join(home, "claude"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  let text = "";
  for await (const line of lines) {
    text += line;
    if (line.trimEnd().endsWith("}")) break;
  }
  const told = JSON.parse(text) as { open_url: string };
  return { address: told.open_url, process: child, home };
}

const shared = test.extend<{ errors: string[] }, { demo: Demo }>({
  demo: [
    async ({}, use) => {
      const demo = await serveDemo();
      await use(demo);
      demo.process.kill("SIGTERM");
      const [status] = (await once(demo.process, "exit")) as [number | null];
      expect(status).toBe(0);
      await rm(demo.home, { recursive: true, force: true });
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
  await page.goto(demo.address);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sessions 8", { timeout: 30_000 });
}

shared("a fresh machine shows the sample sessions", async ({ page, demo, errors }) => {
  await open(page, demo);
  for (const title of ["Fix week numbers around New Year", "日本語の文言を確認", "Release notes for 2.4"])
    await expect(page.getByText(title).first()).toBeVisible();
  await page.getByText("Fix week numbers around New Year").first().click();
  await expect(page.getByText("The function pairs the year of the")).toBeVisible();
  await expect(page.getByText("Six labels in two old exports are wrong.")).toBeAttached();
  const picture = process.env["README_PICTURE"];
  if (picture !== undefined) await page.screenshot({ path: picture });
  expect(errors).toEqual([]);

  // The one-time address has been used; whoever has it now is not let in.
  const stranger = await page.context().browser()?.newContext();
  const answer = await stranger?.request.get(demo.address, { maxRedirects: 0 });
  expect(answer?.status()).toBe(401);
  await stranger?.close();
});
