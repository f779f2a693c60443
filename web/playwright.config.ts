import { existsSync } from "node:fs";

import { defineConfig } from "@playwright/test";

// The system's own Chromium: no browser is downloaded. It is told to keep quiet, since it can reach nothing.
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const PLACES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const CHROMIUM = process.env["CHROMIUM"] ?? PLACES.find((place) => existsSync(place)) ?? "chromium";

export default defineConfig({
  testDir: "tests/browser",
  outputDir: ".results",
  workers: 2,
  fullyParallel: true,
  forbidOnly: true,
  timeout: 60_000,
  // On a machine that others use, a browser may be starved; a test that needs this is listed as flaky.
  retries: 1,
  expect: { timeout: 10_000 },
  reporter: "line",
  use: {
    viewport: { width: 1440, height: 900 },
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    colorScheme: "light",
    launchOptions: { executablePath: CHROMIUM, args: FLAGS },
  },
});
