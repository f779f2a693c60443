/**
 * The only place that calls the network. Paths are on this server; nothing else is ever asked. Whoever was let in by
 * a link asks below the link's address.
 */

import { BASE, filterQuery } from "@/lib/routes";
import type { SessionFilter } from "@/lib/routes";

import { noteAnswer, noteSilence } from "./connection";
import { readError, ServerGoneError } from "./errors";
import type {
  Call,
  CallPage,
  Marks,
  MessageWindow,
  Projects,
  SessionDetail,
  SessionPage,
  Status,
  Turns,
} from "./types";

/** A stranger is nobody else besides, and keeps nothing that a link showed. */
const HOW: RequestInit =
  BASE === "" ? { credentials: "same-origin" } : { credentials: "omit", cache: "no-store" };

const SESSIONS_AT_ONCE = 200;
const ALIKE_AT_ONCE = 50;
const MESSAGES_AT_ONCE = 80;
const TURNS_AT_ONCE = 500;

/** Which messages: those around one (its uuid or index), or on from a cursor; nothing: the first ones. */
export type WindowRequest =
  | { readonly around: string | number }
  | { readonly before: string }
  | { readonly after: string }
  | { readonly first: true };

/** Sessions of one person that programs started with the same prompt. */
export interface SessionGroup {
  readonly series: string;
  readonly person: string | null;
}

/** Sessions that a program started with the same prompt are one; those of one such `group`, each by itself. */
export function listSessions(
  filter: SessionFilter,
  cursor: string | null,
  signal?: AbortSignal,
  group?: SessionGroup,
): Promise<SessionPage> {
  const query = filterQuery(filter);
  if (group) {
    query.set("series", group.series);
    query.set("person", group.person ?? "");
  } else query.set("grouped", "true");
  query.set("limit", String(group ? ALIKE_AT_ONCE : SESSIONS_AT_ONCE));
  if (cursor !== null) query.set("cursor", cursor);
  return request<SessionPage>(`/api/sessions?${query}`, signal);
}

export function listProjects(signal?: AbortSignal): Promise<Projects> {
  return request<Projects>("/api/projects?sort=sessions", signal);
}

export function getStatus(signal?: AbortSignal): Promise<Status> {
  return request<Status>("/api/status", signal);
}

export function getSession(session: string, signal?: AbortSignal): Promise<SessionDetail> {
  return request<SessionDetail>(sessionUrl(session), signal);
}

/** All of them: the contents show where one is among them. */
export async function listTurns(session: string, signal?: AbortSignal): Promise<Turns> {
  const first = await request<Turns>(`${sessionUrl(session)}/turns?limit=${TURNS_AT_ONCE}`, signal);
  const items = [...first.items];
  for (let { next } = first; next;) {
    const query = `limit=${TURNS_AT_ONCE}&cursor=${encodeURIComponent(next)}`;
    const page: Turns = await request<Turns>(`${sessionUrl(session)}/turns?${query}`, signal);
    items.push(...page.items);
    next = page.next;
  }
  return { ...first, items, next: null };
}

/** A window of one file of the session; without `source`, of its transcript, or of where a uuid stands. */
export function getMessages(
  session: string,
  which: WindowRequest,
  source: string | null,
  signal?: AbortSignal,
): Promise<MessageWindow> {
  const query = new URLSearchParams({ limit: String(MESSAGES_AT_ONCE) });
  if (source !== null) query.set("source", source);
  for (const [name, value] of Object.entries(which)) if (name !== "first") query.set(name, String(value));
  return request<MessageWindow>(`${sessionUrl(session)}/messages?${query}`, signal);
}

/** The calls of one message with all that went in and came out. */
export async function listCallsOf(
  session: string,
  message: string,
  signal?: AbortSignal,
): Promise<readonly Call[]> {
  const path = `${sessionUrl(session)}/sidechains/${encodeURIComponent(message)}?limit=200`;
  return (await request<CallPage>(path, signal)).items;
}

export function rawUrl(session: string, index: number, source: string): string {
  return `${BASE}${sessionUrl(session)}/messages/${index}/raw?source=${encodeURIComponent(source)}`;
}

export function changeMarks(session: string, change: MarksChange): Promise<unknown> {
  return request(`${sessionUrl(session)}/marks`, undefined, withJson("PATCH", change));
}

export type MarksChange = Partial<Pick<Marks, "starred" | "archived" | "name" | "note">> & {
  readonly add_tags?: readonly string[];
  readonly remove_tags?: readonly string[];
};

export function sessionUrl(session: string): string {
  return `/api/sessions/${encodeURIComponent(session)}`;
}

/** Asks this server; the answer is trusted to be of the shape that its schema says. */
export async function request<T>(path: string, signal?: AbortSignal, init: RequestInit = {}): Promise<T> {
  const response = await send(path, signal, init);
  noteAnswer(response.status);
  if (!response.ok) throw await readError(response);
  return (await response.json()) as T;
}

/** The same where the answer is empty. */
export async function requestNothing(path: string, init: RequestInit): Promise<void> {
  const response = await send(path, undefined, init);
  noteAnswer(response.status);
  if (!response.ok) throw await readError(response);
}

/** What is sent as JSON. */
export function withJson(method: "POST" | "PUT" | "PATCH", body: object): RequestInit {
  return { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** The same for what is not JSON as a whole. */
export async function requestText(path: string, signal?: AbortSignal): Promise<string> {
  const response = await send(path, signal, {});
  noteAnswer(response.status);
  if (!response.ok) throw await readError(response);
  return response.text();
}

/** The answer as it comes. */
export async function send(
  path: string,
  signal: AbortSignal | undefined,
  init: RequestInit,
): Promise<Response> {
  try {
    return await fetch(BASE + path, { ...init, ...HOW, signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    noteSilence();
    throw new ServerGoneError(error);
  }
}
