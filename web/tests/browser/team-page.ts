/** A page on a team's server, which all tests of a worker share: what they add has names of its own. */

import { test as base } from "@playwright/test";
import type { Page } from "@playwright/test";

import { Team } from "../fixture/team";
import type { Member } from "../fixture/team";

export { expect } from "@playwright/test";

interface Own {
  /** Lets the page's browser in as somebody. */
  readonly enter: (who: Member) => Promise<void>;
  /** What the browser may complain about in this test. */
  readonly expected: RegExp[];
}

export const test = base.extend<Own, { readonly team: Team }>({
  team: [
    async ({}, use) => {
      const team = await Team.start();
      await use(team);
      await team.stop();
    },
    { scope: "worker", timeout: 120_000 },
  ],
  expected: async ({}, use) => {
    await use([]);
  },
  baseURL: async ({ team }, use) => {
    await use(team.url);
  },
  enter: async ({ page, team }, use) => {
    await use((who) => enterAs(page, team, who));
  },
  page: async ({ page, team, expected }, use) => {
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(team.url)) complaints.push(`asked for ${request.url()}`);
    });
    await use(page);
    const unexpected = complaints.filter((text) => !expected.some((pattern) => pattern.test(text)));
    base.expect(unexpected).toEqual([]);
  },
});

/** By a cookie, as the login gives it. */
export async function enterAs(page: Page, team: Team, who: Member): Promise<void> {
  const answer = await page.request.post(`${team.url}/api/login`, { data: { token: team.tokens[who] } });
  base.expect(answer.status()).toBe(204);
}
