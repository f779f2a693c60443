/** A page with a server of its own. What it complains about fails the test: errors, broken policies, foreign requests. */

import { readFileSync } from "node:fs";

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

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

const PATHS = Object.entries(
  (
    JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as {
      paths: Record<string, Record<string, Operation>>;
    }
  ).paths,
).map(([path, methods]) => ({ path: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`), methods }));

/** What the server would refuse: parameters that its schema does not have. */
function unknownParameters(method: string, url: URL): string[] {
  if (!url.pathname.startsWith("/api/")) return [];
  const operations = PATHS.filter(({ path }) => path.test(url.pathname)).flatMap(
    ({ methods }) => methods[method.toLowerCase()] ?? [],
  );
  const known = operations.flatMap(({ parameters = [] }) => parameters.map(({ name }) => name));
  return [...url.searchParams.keys()].filter((name) => !known.includes(name));
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
      const unknown = unknownParameters(request.method(), new URL(request.url()));
      if (unknown.length > 0) complaints.push(`${request.url()} has no parameters ${unknown.join(", ")}`);
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
