/** Every place of the page has an address; all of them are made and read here. */

export interface SessionFilter {
  readonly project: string | null;
  readonly model: string | null;
  readonly tag: string | null;
  readonly text: string | null;
  readonly starred: boolean;
  /** Something in it failed. */
  readonly errors: boolean;
  /** Its files are gone from where Claude Code wrote them. */
  readonly only_here: boolean;
  readonly sort: SessionSort;
}

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
  starred: false,
  errors: false,
  only_here: false,
  sort: "newest",
};

export function parseFilter(search: string): SessionFilter {
  const params = new URLSearchParams(search);
  const sort = params.get("sort") ?? "";
  return {
    project: params.get("project"),
    model: params.get("model"),
    tag: params.get("tag"),
    text: params.get("text"),
    starred: params.get("starred") === "true",
    errors: params.get("errors") === "true",
    only_here: params.get("only_here") === "true",
    sort: Object.hasOwn(SORTS, sort) ? (sort as SessionSort) : "newest",
  };
}

/** The query of a filter, also as the API takes it; what is not set is left out. */
export function filterQuery(filter: SessionFilter): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of ["project", "model", "tag", "text"] as const) {
    const value = filter[name];
    if (value !== null && value !== "") params.set(name, value);
  }
  for (const name of ["starred", "errors", "only_here"] as const) if (filter[name]) params.set(name, "true");
  if (filter.sort !== NO_FILTER.sort) params.set("sort", filter.sort);
  return params;
}

export function sessionsPath(filter: SessionFilter = NO_FILTER): string {
  const query = filterQuery(filter).toString();
  return query ? `/sessions?${query}` : "/sessions";
}

export function sessionPath(session: string, message?: string): string {
  const base = `/sessions/${encodeURIComponent(session)}`;
  return message === undefined ? base : `${base}/messages/${encodeURIComponent(message)}`;
}

/** Whether a filter leaves anything out. */
export function isNarrowed(filter: SessionFilter): boolean {
  return filterQuery({ ...filter, sort: NO_FILTER.sort }).size > 0;
}
