/** Looking after the archive: what is wrong in it, checking it, forgetting, giving files back. */

import { queryOptions } from "@tanstack/react-query";

import { request, sessionUrl } from "./client";
import type { components } from "./schema";
import type { Problems } from "./types";

type Schemas = components["schemas"];

export type ArchiveOverview = Schemas["ArchiveOverview"];
export type EndangeredSession = Schemas["ExpiringSession"];
export type FlawedSession = Schemas["ProblemSession"];
export type ForgottenSession = Schemas["ForgottenSession"];
export type Forgetting = Schemas["ForgetResult"];
export type Restoring = Schemas["RestoreResult"];
export type VerifyJob = Schemas["VerifyJob"];

const VERIFY_EVERY_MS = 700;

/** While a check runs, how far it is is asked for again and again. */
export const archiveQuery = () =>
  queryOptions({
    queryKey: ["archive"],
    queryFn: ({ signal }) => request<ArchiveOverview>("/api/archive", signal),
    refetchInterval: ({ state }) => (state.data?.verify?.state === "running" ? VERIFY_EVERY_MS : false),
  });

export const problemsQuery = (session: string) =>
  queryOptions({
    queryKey: ["problems", session],
    queryFn: ({ signal }) => request<Problems>(`${sessionUrl(session)}/problems?limit=50`, signal),
  });

export function startVerify(): Promise<VerifyJob> {
  return request<VerifyJob>("/api/archive/verify", undefined, { method: "POST" });
}

export function forgetSession(session: string, dryRun: boolean): Promise<Forgetting> {
  return request<Forgetting>(`${sessionUrl(session)}/forget`, undefined, withBody({ dry_run: dryRun }));
}

export function restoreSession(session: string, dryRun: boolean): Promise<Restoring> {
  return request<Restoring>(`${sessionUrl(session)}/restore`, undefined, withBody({ dry_run: dryRun }));
}

/** Lets a session that was forgotten be archived again, if its files still exist. */
export function deleteTombstone(session: string): Promise<unknown> {
  return request(`/api/archive/tombstones/${encodeURIComponent(session)}`, undefined, { method: "DELETE" });
}

function withBody(body: object): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}
