/** Short names of things that have long ones. */

const FAMILY_FIRST = /^claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?:-\d{6,})?(?:\[.*\])?$/;
const FAMILY_LAST = /^claude-(\d+)(?:-(\d{1,2}))?-([a-z]+)(?:-\d{6,}|-latest)?(?:\[.*\])?$/;

/** `opus 4.5` of `claude-opus-4-5-20251101`; names of another form stay as they are. */
export function modelName(model: string): string {
  const now = FAMILY_FIRST.exec(model);
  if (now) return `${now[1]} ${now[2]}${now[3] ? `.${now[3]}` : ""}`;
  const old = FAMILY_LAST.exec(model);
  if (old) return `${old[3]} ${old[1]}${old[2] ? `.${old[2]}` : ""}`;
  return model;
}

/** The last part of a path. */
export function baseName(path: string): string {
  const parts = path.split(/[\\/]/).filter(Boolean);
  return parts.at(-1) ?? path;
}

/** What a tool is called on the page: an MCP tool by its own name, with its server beside it. */
export function toolName(name: string): { readonly name: string; readonly server: string | null } {
  const parts = name.startsWith("mcp__") ? name.slice(5).split("__") : [];
  const [server, ...rest] = parts;
  return server && rest.length > 0 ? { name: rest.join("__"), server } : { name, server: null };
}

const MODES: Readonly<Record<string, string>> = {
  default: "asks first",
  acceptEdits: "accepts edits",
  plan: "plans only",
  bypassPermissions: "never asks",
  dontAsk: "never asks, denies everything else",
  auto: "decides by itself",
};

/** What Claude may do without asking, in words; a mode that is not known goes by its own name. */
export function modeName(mode: string): string {
  return Object.hasOwn(MODES, mode) ? (MODES[mode] ?? mode) : mode;
}
