/** Who looks at the page, and what they may do. */

import { queryOptions } from "@tanstack/react-query";

import { request } from "./client";
import type { components } from "./schema";

export type Me = components["schemas"]["Me"];

export const meQuery = () =>
  queryOptions({
    queryKey: ["me"],
    queryFn: ({ signal }) => request<Me>("/api/me", signal),
    staleTime: 60_000,
  });
