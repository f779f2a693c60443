/** What axe finds on a page as it is. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { Page } from "@playwright/test";
import type { AxeResults } from "axe-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function findViolations(page: Page): Promise<string[]> {
  // Evaluated, not added as a script: the page's policy would not let it in.
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: (how: object) => Promise<AxeResults> } };
    // Rows come and go as one scrolls, so a heading of an answer may stand there without the one above it.
    const { violations } = await axe.run({ rules: { "heading-order": { enabled: false } } });
    return violations.map(
      (violation) =>
        `${violation.id}: ${violation.nodes
          .map((node) => node.html.slice(0, 160))
          .slice(0, 3)
          .join(" | ")}`,
    );
  });
}

/** As wide as the screen, and no wider. */
export function widthOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}
