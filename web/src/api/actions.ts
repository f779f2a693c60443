/** The action log: every call and event of a session. */

import { actionQuery } from "@/lib/action-filter";
import type { ActionFilter } from "@/lib/action-filter";

import { request, sessionUrl } from "./client";
import type { ActionPage } from "./types";

export type { Action, ActionPage, ActionSpan } from "./types";

const AT_ONCE = 200;

export function listActions(
  session: string,
  filter: ActionFilter,
  cursor: string | null,
  signal?: AbortSignal,
): Promise<ActionPage> {
  const query = actionQuery(filter);
  query.set("limit", String(AT_ONCE));
  if (cursor !== null) query.set("cursor", cursor);
  return request<ActionPage>(`${sessionUrl(session)}/actions?${query}`, signal);
}
