/** Where hook events stand: under the call that they are about, else under their message. */

import type { HookItem } from "@/api/types";

import type { ContentRow } from "./rows";

type Base = Omit<Extract<ContentRow, { kind: "hooks" }>, "kind" | "hooks">;

export function placeHooks(
  rows: readonly ContentRow[],
  hooks: readonly HookItem[],
  base: (part: string) => Base,
): ContentRow[] {
  const placed = new Set<HookItem>();
  const all = rows.flatMap((row): ContentRow[] => {
    const { id } = row.kind === "call" ? row.call : { id: null };
    const own = id === null ? [] : hooks.filter((hook) => hook.tool_use_id === id);
    for (const hook of own) placed.add(hook);
    return own.length === 0 ? [row] : [row, { ...base(row.key), kind: "hooks", hooks: own }];
  });
  const rest = hooks.filter((hook) => !placed.has(hook));
  return rest.length === 0 ? all : [...all, { ...base("rest"), kind: "hooks", hooks: rest }];
}
