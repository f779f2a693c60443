/** Who sees a session: the person's choice, links for strangers, and deleting it. */

import { queryOptions } from "@tanstack/react-query";

import type { Visibility } from "@/lib/routes";

import { request, requestNothing, sessionUrl, withJson } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Access = Schemas["SessionAccessItem"];
export type ShareLink = Schemas["SharedLink"];
/** What deleting takes out, or took. */
export type Deletion = Schemas["DeletionPreview"];

/** What a stranger would be shown. */
export interface LinkPreview {
  readonly title: string;
  readonly project: string | null;
  readonly messages: number;
  readonly agents: number;
  readonly calls: number;
  readonly tools: readonly (readonly [string, number])[];
  readonly files: readonly string[];
  readonly redacted: readonly (readonly [string, number])[];
  readonly excerpts: readonly string[];
}

export interface LinkRequest {
  readonly session: string;
  readonly days: number;
  readonly words: readonly string[];
}

export const accessQuery = (session: string) =>
  queryOptions({
    queryKey: ["access", session],
    queryFn: ({ signal }) => request<Access>(`${sessionUrl(session)}/access`, signal),
    staleTime: 0,
  });

/** Null leaves it to the rules. Returns the keys of those that it changed. */
export async function setVisibility(
  keys: readonly string[],
  visibility: Visibility | null,
): Promise<readonly string[]> {
  const body = { keys, visibility };
  return (await request<{ changed: readonly string[] }>("/api/access", undefined, withJson("POST", body)))
    .changed;
}

/** It reads all of the session. */
export const linkPreviewQuery = (session: string, words: readonly string[]) =>
  queryOptions({
    queryKey: ["link-preview", session, words],
    queryFn: ({ signal }) =>
      request<LinkPreview>("/api/links/preview", signal, withJson("POST", { session, words })),
    gcTime: 0,
    retry: false,
  });

/** Its path is known only now: nobody can see it again. */
export function createLink(wanted: LinkRequest): Promise<{ readonly link: ShareLink; readonly path: string }> {
  return request("/api/links", undefined, withJson("POST", wanted));
}

export function revokeLink(id: string): Promise<void> {
  return requestNothing(`/api/links/${encodeURIComponent(id)}`, { method: "DELETE" });
}

export function previewDeletion(session: string): Promise<Deletion> {
  return request<Deletion>(`${sessionUrl(session)}/deletion-preview`);
}

export function deleteSession(session: string): Promise<Deletion> {
  return request<Deletion>(sessionUrl(session), undefined, { method: "DELETE" });
}
