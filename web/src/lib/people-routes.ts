/** Addresses of the pages about people. */

/** What is asked on the page of people; each has an address of its own. */
export interface PeopleState {
  /** Whose account is open. */
  readonly person: string | null;
  /** Somebody is to be added. */
  readonly adds: boolean;
}

export function parsePeople(search: string): PeopleState {
  const params = new URLSearchParams(search);
  return { person: params.get("person"), adds: params.has("add") };
}

export function peoplePath({ person = null, adds = false }: Partial<PeopleState> = {}): string {
  const query = new URLSearchParams();
  if (person !== null) query.set("person", person);
  if (adds) query.set("add", "");
  return withQuery("/people", query);
}

/** Which entries of the audit are listed; null: all. */
export interface AuditState {
  readonly who: string | null;
  readonly person: string | null;
  readonly action: string | null;
  readonly session: string | null;
}

export const WHOLE_AUDIT: AuditState = { who: null, person: null, action: null, session: null };

const FIELDS = ["who", "person", "action", "session"] as const;

export function parseAudit(search: string): AuditState {
  const params = new URLSearchParams(search);
  const read = (name: (typeof FIELDS)[number]) => params.get(name) ?? null;
  return { who: read("who"), person: read("person"), action: read("action"), session: read("session") };
}

/** Also as the API takes it. */
export function auditQueryOf(state: AuditState): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of FIELDS) {
    const value = state[name];
    if (value !== null && value !== "") query.set(name, value);
  }
  return query;
}

export function auditPath(state: Partial<AuditState> = {}): string {
  return withQuery("/audit", auditQueryOf({ ...WHOLE_AUDIT, ...state }));
}

/** Where the login leads to: a path of ours, never of anybody else's. */
export function parseNext(search: string): string {
  const next = new URLSearchParams(search).get("next") ?? "/";
  // `//host` and `/\host` are other places to a browser.
  return /^\/(?![/\\])/.test(next) && !next.startsWith("/login") ? next : "/";
}

function withQuery(path: string, query: URLSearchParams): string {
  return query.size > 0 ? `${path}?${query}` : path;
}
