/** A page with a server of its own. What it complains about fails the test: errors, broken policies, foreign requests. */

import { test as base } from "@playwright/test";

import { Fixture } from "../fixture/server";

export { expect } from "@playwright/test";

interface Own {
  /** How many sessions the server has. */
  readonly sessions: number;
  readonly fixture: Fixture;
  /** What the browser may complain about in this test. */
  readonly expected: RegExp[];
}

export const test = base.extend<Own>({
  sessions: [620, { option: true }],
  expected: async ({}, use) => {
    await use([]);
  },
  fixture: async ({ sessions }, use) => {
    const fixture = await new Fixture({ sessions }).start();
    await use(fixture);
    await fixture.stop();
  },
  baseURL: async ({ fixture }, use) => {
    await use(fixture.url);
  },
  page: async ({ page, fixture, expected }, use) => {
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(fixture.url)) complaints.push(`asked for ${request.url()}`);
    });
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    await use(page);
    const unexpected = complaints.filter((text) => !expected.some((pattern) => pattern.test(text)));
    base.expect(unexpected).toEqual([]);
  },
});
