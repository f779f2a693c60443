/** People: their accounts, what lets them in, their machines, and the rules for their projects. */

import { queryOptions } from "@tanstack/react-query";

import type { Visibility } from "@/lib/routes";

import { request, requestNothing, withJson } from "./client";
import type { components } from "./schema";
import type { ShareLink } from "./sharing";

type Schemas = components["schemas"];

export type User = Schemas["UserItem"];
export type Role = User["role"];
export type UserChange = Schemas["UserChange"];
/** Not the secret itself. */
export type Token = Schemas["TokenItem"];
export type TokenKind = Schemas["TokenKind"];
export type TokenWish = Schemas["TokenRequest"];
export type NewToken = Schemas["NewToken"];
export type Machine = Schemas["MachineItem"];
export type Rule = Schemas["RuleItem"];
/** How many sessions something concerns. */
export type Concerned = Schemas["RulePreview"];

export const usersQuery = () =>
  queryOptions({
    queryKey: ["people", "users"],
    queryFn: ({ signal }) => request<readonly User[]>("/api/users", signal),
  });

export const tokensQuery = (user: string) =>
  queryOptions({
    queryKey: ["people", "tokens", user],
    queryFn: ({ signal }) => request<readonly Token[]>(`/api/tokens?user=${encodeURIComponent(user)}`, signal),
  });

export const machinesQuery = () =>
  queryOptions({
    queryKey: ["people", "machines"],
    queryFn: ({ signal }) => request<readonly Machine[]>("/api/machines", signal),
  });

export const rulesQuery = () =>
  queryOptions({
    queryKey: ["people", "rules"],
    queryFn: ({ signal }) => request<readonly Rule[]>("/api/rules", signal),
  });

export function addUser(user: Schemas["NewUser"]): Promise<User> {
  return request<User>("/api/users", undefined, withJson("POST", user));
}

export function changeUser(name: string, change: UserChange): Promise<User> {
  return request<User>(userUrl(name), undefined, withJson("PATCH", change));
}

/** Ends whatever lets them in, and the links that they made. */
export function disableUser(name: string): Promise<User> {
  return request<User>(`${userUrl(name)}/disable`, undefined, { method: "POST" });
}

export function enableUser(name: string): Promise<User> {
  return request<User>(`${userUrl(name)}/enable`, undefined, { method: "POST" });
}

/** How much of what is good now ends when somebody is disabled. */
export interface Ending {
  readonly personal: number;
  readonly machine: number;
  readonly links: number;
}

export async function listEnding(user: string): Promise<Ending> {
  const [tokens, links] = await Promise.all([
    request<readonly Token[]>(`/api/tokens?user=${encodeURIComponent(user)}`),
    request<readonly ShareLink[]>("/api/links"),
  ]);
  const good = tokens.filter(isGood);
  return {
    personal: good.filter(({ kind }) => kind === "personal").length,
    machine: good.filter(({ kind }) => kind === "machine").length,
    links: links.filter((link) => link.created_by === user && isGood(link)).length,
  };
}

/** Neither revoked nor over. */
export function isGood(
  what: { readonly revoked_at: string | null; readonly expires_at: string | null },
  now = Date.now(),
): boolean {
  return what.revoked_at === null && (what.expires_at === null || Date.parse(what.expires_at) > now);
}

export function createToken(wish: TokenWish): Promise<NewToken> {
  return request<NewToken>("/api/tokens", undefined, withJson("POST", wish));
}

export function revokeToken(id: string): Promise<void> {
  return requestNothing(`/api/tokens/${encodeURIComponent(id)}`, { method: "DELETE" });
}

export function assignMachine(origin: string, person: string | null): Promise<Concerned> {
  return request<Concerned>(
    `/api/machines/${encodeURIComponent(origin)}`,
    undefined,
    withJson("PUT", { person }),
  );
}

/** Sets a rule, or takes it away; with `dryRun`, it only tells how many sessions others would see, or not any more. */
export function setRule(pattern: string, visibility: Visibility | null, dryRun: boolean): Promise<Concerned> {
  const body = { pattern, visibility };
  return dryRun
    ? request<Concerned>("/api/rules/preview", undefined, withJson("POST", body))
    : request<Concerned>("/api/rules", undefined, withJson("PUT", body));
}

function userUrl(name: string): string {
  return `/api/users/${encodeURIComponent(name)}`;
}
