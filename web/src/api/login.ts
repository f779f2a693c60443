/** Coming in, and leaving. None of it says whether the browser is let in: `/api/login` is for everybody. */

import { queryOptions } from "@tanstack/react-query";

import { requestNothing, send, withJson } from "./client";
import { connection } from "./connection";
import { readError } from "./errors";
import type { components } from "./schema";

export type LoginWays = components["schemas"]["LoginWays"];

export const loginWaysQuery = () =>
  queryOptions({
    queryKey: ["login"],
    queryFn: async ({ signal }) => {
      const response = await send("/api/login", signal, {});
      if (!response.ok) throw await readError(response);
      return (await response.json()) as LoginWays;
    },
    retry: false,
  });

/** Lets this browser in by a token; what was refused until then is asked for again. */
export async function logIn(token: string): Promise<void> {
  const response = await send("/api/login", undefined, withJson("POST", { token }));
  if (!response.ok) throw await readError(response);
  connection.set("ok");
}

export function logOut(): Promise<void> {
  return requestNothing("/api/logout", { method: "POST" });
}

/** Where a provider is asked who one is; it leads back to `next`, a path of ours. */
export function providerUrl(next: string): string {
  return `/api/login/oidc?next=${encodeURIComponent(next)}`;
}
