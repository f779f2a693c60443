/** Which actions are shown, and how it stands in the address. */

/** Spec 002 §6's ten, in the order of the keys 1 to 0. */
export const CATEGORIES = {
  builtin: "Built-in",
  agent: "Agent",
  mcp: "MCP",
  skill: "Skill",
  hook: "Hook",
  hook_progress: "Hook progress",
  error: "Error",
  system: "System",
  snapshot: "Snapshot",
  queue: "Queue",
} as const;
export type Category = keyof typeof CATEGORIES;
export const CATEGORY_NAMES = Object.keys(CATEGORIES) as readonly Category[];

export const STATES = {
  failed: "Failed",
  ok: "Worked",
  running: "Running",
  waiting: "Waits for you",
  rejected: "Turned down",
  unresolved: "No result",
  note: "No outcome",
} as const;
export type ActionState = keyof typeof STATES;

export const LONGER_THAN = { 1000: "1 s", 10_000: "10 s", 60_000: "1 m", 300_000: "5 m" } as const;

export interface ActionFilter {
  /** Categories that are left out. */
  readonly off: readonly Category[];
  readonly outcome: ActionState | null;
  readonly name: string | null;
  readonly min_ms: number | null;
  readonly sort: "order" | "slowest";
}

/** What the program says to itself is left out until it is asked for. */
const QUIET: readonly Category[] = ["hook_progress", "system"];

export const NO_ACTION_FILTER: ActionFilter = {
  off: QUIET,
  outcome: null,
  name: null,
  min_ms: null,
  sort: "order",
};

export function parseActionFilter(search: string): ActionFilter {
  const params = new URLSearchParams(search);
  const outcome = params.get("outcome") ?? "";
  const least = Number(params.get("min_ms"));
  const off = params.get("off");
  return {
    off: off === null ? QUIET : CATEGORY_NAMES.filter((name) => off.split(",").includes(name)),
    outcome: Object.hasOwn(STATES, outcome) ? (outcome as ActionState) : null,
    name: params.get("name"),
    min_ms: Number.isSafeInteger(least) && least > 0 ? least : null,
    sort: params.get("sort") === "slowest" ? "slowest" : "order",
  };
}

/** The query of the page's own address; what is as always is left out. */
export function actionSearch(filter: ActionFilter): URLSearchParams {
  const params = narrowed(filter);
  if (filter.off.join() !== QUIET.join()) params.set("off", filter.off.join(",") || "none");
  return params;
}

/** The query as the API takes it: it asks for those that are wanted. */
export function actionQuery(filter: ActionFilter): URLSearchParams {
  const params = narrowed(filter);
  if (filter.off.length > 0)
    for (const name of CATEGORY_NAMES) if (!filter.off.includes(name)) params.append("category", name);
  return params;
}

function narrowed(filter: ActionFilter): URLSearchParams {
  const params = new URLSearchParams();
  if (filter.outcome !== null) params.set("outcome", filter.outcome);
  if (filter.name !== null && filter.name !== "") params.set("name", filter.name);
  if (filter.min_ms !== null) params.set("min_ms", String(filter.min_ms));
  if (filter.sort !== "order") params.set("sort", filter.sort);
  return params;
}

export function actionsPath(session: string, filter: ActionFilter = NO_ACTION_FILTER): string {
  const query = actionSearch(filter).toString();
  const base = `/actions/${encodeURIComponent(session)}`;
  return query ? `${base}?${query}` : base;
}

/** The category is left out, or not any more. */
export function toggleCategory(filter: ActionFilter, category: Category): ActionFilter {
  const off = CATEGORY_NAMES.filter((name) => filter.off.includes(name) !== (name === category));
  // With nothing left there would be nothing to see.
  return { ...filter, off: off.length === CATEGORY_NAMES.length ? [] : off };
}

/** Only the category; if it is the only one already, all. */
export function onlyCategory(filter: ActionFilter, category: Category): ActionFilter {
  const others = CATEGORY_NAMES.filter((name) => name !== category);
  return { ...filter, off: filter.off.join() === others.join() ? [] : others };
}
