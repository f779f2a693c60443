/** Every place of the page has an address; all of them are made and read here. */

/** What stands before every address where a link lets a stranger in: `/s/…`; else nothing. */
export function baseOf(path: string): string {
  return /^\/s\/[^/]+/.exec(path)?.[0] ?? "";
}

/** Of this page; it stays as it is as long as the page is open. */
export const BASE: string = baseOf(typeof location === "undefined" ? "/" : location.pathname);
/** Whether it is a stranger's, who reads one session and does nothing else. */
export const SHARED = BASE !== "";

export interface SessionFilter {
  readonly project: string | null;
  readonly model: string | null;
  readonly tag: string | null;
  readonly text: string | null;
  readonly branch: string | null;
  /** Whose they are; an empty name stands for nobody. */
  readonly person: string | null;
  /** Where they come from. */
  readonly machine: string | null;
  readonly visibility: Visibility | null;
  /** Something happened then or later, and before: days or moments as ISO 8601 has them. */
  readonly since: string | null;
  readonly until: string | null;
  readonly starred: boolean;
  /** Something in it failed. */
  readonly errors: boolean;
  /** Its files are gone from where Claude Code wrote them. */
  readonly only_here: boolean;
  readonly sort: SessionSort;
}

export const VISIBILITIES = { private: "Private", team: "Shared with the team" } as const;
export type Visibility = keyof typeof VISIBILITIES;

export const SORTS = {
  newest: "Newest first",
  oldest: "Oldest first",
  title: "By title",
  cost: "Most expensive",
  duration: "Longest",
  tokens: "Most tokens",
  messages: "Most messages",
} as const;
export type SessionSort = keyof typeof SORTS;

export const NO_FILTER: SessionFilter = {
  project: null,
  model: null,
  tag: null,
  text: null,
  branch: null,
  person: null,
  machine: null,
  visibility: null,
  since: null,
  until: null,
  starred: false,
  errors: false,
  only_here: false,
  sort: "newest",
};

export function parseFilter(search: string): SessionFilter {
  const params = new URLSearchParams(search);
  const sort = params.get("sort") ?? "";
  const visibility = params.get("visibility") ?? "";
  return {
    project: params.get("project"),
    model: params.get("model"),
    tag: params.get("tag"),
    text: params.get("text"),
    branch: params.get("branch"),
    person: params.get("person"),
    machine: params.get("machine"),
    visibility: Object.hasOwn(VISIBILITIES, visibility) ? (visibility as Visibility) : null,
    since: params.get("since"),
    until: params.get("until"),
    starred: params.get("starred") === "true",
    errors: params.get("errors") === "true",
    only_here: params.get("only_here") === "true",
    sort: Object.hasOwn(SORTS, sort) ? (sort as SessionSort) : "newest",
  };
}

const TEXTS = ["project", "model", "tag", "text", "branch", "machine", "visibility", "since", "until"] as const;

/** The query of a filter, also as the API takes it; what is not set is left out. */
export function filterQuery(filter: SessionFilter): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of TEXTS) {
    const value = filter[name];
    if (value !== null && value !== "") params.set(name, value);
  }
  // Nobody's sessions are somebody's choice, too.
  if (filter.person !== null) params.set("person", filter.person);
  for (const name of ["starred", "errors", "only_here"] as const) if (filter[name]) params.set(name, "true");
  if (filter.sort !== NO_FILTER.sort) params.set("sort", filter.sort);
  return params;
}

export function sessionsPath(filter: SessionFilter = NO_FILTER): string {
  return withQuery("/sessions", filterQuery(filter));
}

export function sessionPath(session: string, message?: string, place: MessagePlace = NO_PLACE): string {
  const base = `/sessions/${encodeURIComponent(session)}`;
  if (message === undefined) return base;
  const query = new URLSearchParams();
  if (place.source !== null) query.set("source", place.source);
  if (place.call !== null) query.set("call", String(place.call));
  return withQuery(`${base}/messages/${encodeURIComponent(message)}`, query);
}

/** A sub-agent's conversation by itself. */
export function agentPath(session: string, agent: string): string {
  return `${sessionPath(session)}/agents/${encodeURIComponent(agent)}`;
}

/** The end of a conversation: where a live session is, and the point at which it waits. */
export function endPath(session: string): string {
  return `${sessionPath(session)}?at=end`;
}

export function opensAtEnd(search: string): boolean {
  return new URLSearchParams(search).get("at") === "end";
}

/** What is looked for in a conversation; null: nothing. */
export function parseFind(search: string): string | null {
  return new URLSearchParams(search).get("find");
}

/** The same query with another text to find. */
export function findQueryOf(search: string, text: string | null): string {
  const query = new URLSearchParams(search);
  if (text === null) query.delete("find");
  else query.set("find", text);
  return query.size > 0 ? `?${query}` : "";
}

/** What an address says besides the message: the same uuid may stand in several files, and a call may be folded. */
export interface MessagePlace {
  /** The file that the message is in: a sub-agent's own. Null: the transcript, or wherever the uuid stands. */
  readonly source: string | null;
  /** The call, among those of its file, whose input or output is meant; it is opened. */
  readonly call: number | null;
}

export const NO_PLACE: MessagePlace = { source: null, call: null };

export function parsePlace(search: string): MessagePlace {
  const params = new URLSearchParams(search);
  return { source: params.get("source"), call: readCount(params.get("call")) };
}

interface Found {
  readonly session: string | null;
  readonly session_id: string;
  readonly source: string | null;
  readonly message_uuid: string | null;
  readonly call: number | null;
}

/** Where a hit of the search stands: its exact message, in its file, with its call opened. */
export function hitPath(hit: Found): string {
  // The transcript's own source is the session's key: only files of sub-agents have to be named.
  const source = hit.source === hit.session ? null : hit.source;
  return sessionPath(hit.session ?? hit.session_id, hit.message_uuid ?? undefined, { source, call: hit.call });
}

/** Whether a filter leaves anything out. */
export function isNarrowed(filter: SessionFilter): boolean {
  return filterQuery({ ...filter, sort: NO_FILTER.sort }).size > 0;
}

export interface SearchState {
  readonly text: string;
  readonly order: SearchOrder;
  /** Which hit is looked at, from 0. */
  readonly hit?: number;
}

export const SEARCH_ORDERS = { newest: "Newest first", relevance: "Best first" } as const;
export type SearchOrder = keyof typeof SEARCH_ORDERS;

export function parseSearch(search: string): SearchState {
  const params = new URLSearchParams(search);
  return {
    text: params.get("q") ?? "",
    order: params.get("order") === "relevance" ? "relevance" : "newest",
    hit: readCount(params.get("hit")) ?? 0,
  };
}

export function searchPath({ text, order, hit = 0 }: SearchState): string {
  const query = new URLSearchParams();
  if (text !== "") query.set("q", text);
  if (order !== "newest") query.set("order", order);
  if (hit > 0) query.set("hit", String(hit));
  return withQuery("/search", query);
}

export const RANGES = { today: "Today", "7d": "7 days", "30d": "30 days", year: "Year", all: "All" } as const;
export type Range = keyof typeof RANGES;
export const GROUPINGS = {
  project: "Project",
  session: "Session",
  agent: "Sub-agent",
  person: "Person",
  machine: "Machine",
} as const;
export type UsageGrouping = keyof typeof GROUPINGS;

export interface UsageState {
  /** Null: none was chosen, so that the page opens on days that have something to show. */
  readonly range: Range | null;
  /** Days of one's own choice, instead of a range that moves with today. */
  readonly since: string | null;
  readonly until: string | null;
  readonly measure: "cost" | "tokens";
  readonly project: string | null;
  /** Null: the reader's own. */
  readonly zone: string | null;
  readonly by: UsageGrouping;
  readonly tables: boolean;
}

export function parseUsage(search: string): UsageState {
  const params = new URLSearchParams(search);
  const range = params.get("range") ?? "";
  const by = params.get("by") ?? "";
  return {
    range: Object.hasOwn(RANGES, range) ? (range as Range) : null,
    since: readDay(params.get("since")),
    until: readDay(params.get("until")),
    measure: params.get("measure") === "tokens" ? "tokens" : "cost",
    project: params.get("project"),
    zone: params.get("zone"),
    by: Object.hasOwn(GROUPINGS, by) ? (by as UsageGrouping) : "project",
    tables: params.get("tables") === "true",
  };
}

export function usagePath(state: UsageState): string {
  const query = new URLSearchParams();
  if (state.since !== null) query.set("since", state.since);
  if (state.until !== null) query.set("until", state.until);
  if (state.range !== null && query.size === 0) query.set("range", state.range);
  if (state.measure !== "cost") query.set("measure", state.measure);
  if (state.project !== null) query.set("project", state.project);
  if (state.zone !== null) query.set("zone", state.zone);
  if (state.by !== "project") query.set("by", state.by);
  if (state.tables) query.set("tables", "true");
  return withQuery("/usage", query);
}

function readDay(text: string | null): string | null {
  return text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : null;
}

function readCount(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

export const BOARD_GROUPINGS = {
  state: "State",
  project: "Project",
  person: "Person",
  machine: "Machine",
} as const;
export type Grouping = keyof typeof BOARD_GROUPINGS;

export interface BoardState {
  readonly by: Grouping;
  /** Whose sessions are shown, and from where; null: all. */
  readonly person: string | null;
  readonly machine: string | null;
}

export const WHOLE_BOARD: BoardState = { by: "state", person: null, machine: null };

export function parseBoard(search: string): BoardState {
  const params = new URLSearchParams(search);
  const by = params.get("by") ?? "";
  return {
    by: Object.hasOwn(BOARD_GROUPINGS, by) ? (by as Grouping) : "state",
    person: params.get("person"),
    machine: params.get("machine"),
  };
}

export function missionControlPath({ by, person, machine }: BoardState = WHOLE_BOARD): string {
  const query = new URLSearchParams();
  if (by !== "state") query.set("by", by);
  if (person !== null) query.set("person", person);
  if (machine !== null) query.set("machine", machine);
  return withQuery("/mission-control", query);
}

function withQuery(path: string, query: URLSearchParams): string {
  return query.size > 0 ? `${path}?${query}` : path;
}
