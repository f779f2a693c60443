/** Keys of the action log. */

import { useMemo, useState } from "react";

import { CATEGORIES, CATEGORY_NAMES, onlyCategory, toggleCategory } from "@/lib/action-filter";
import type { ActionFilter } from "@/lib/action-filter";
import type { LogRow } from "@/state/actions/rows";
import type { Binding } from "@/state/keys";
import { useKeys } from "@/state/use-keys";

interface KeyOptions {
  readonly rows: readonly LogRow[];
  readonly filter: ActionFilter;
  readonly onChange: (filter: ActionFilter) => void;
  readonly onTurns: () => void;
}

/** Returns the row that is chosen. */
export function useActionKeys({ rows, filter, onChange, onTurns }: KeyOptions): string | null {
  const [current, setCurrent] = useState<string | null>(null);
  const table = useMemo<readonly Binding[]>(() => {
    const at = rows.findIndex((row) => row.key === current);
    const move = (step: 1 | -1) => () => {
      let to = at < 0 ? 0 : at + step;
      while (rows[to]?.kind === "turn") to += step;
      const next = rows[to];
      if (next) setCurrent(next.key);
    };
    return [
      { keys: "j", label: "next action", group: "move", hinted: true, run: move(1) },
      { keys: "k", label: "previous action", group: "move", hinted: true, run: move(-1) },
      ...CATEGORY_NAMES.map((category, n) => ({
        keys: String((n + 1) % 10),
        label: `show or hide ${CATEGORIES[category].toLowerCase()}`,
        group: "category",
        hinted: n === 0 || n === 9,
        run: () => {
          onChange(toggleCategory(filter, category));
        },
      })),
      ...CATEGORY_NAMES.map((category, n) => ({
        keys: `o ${(n + 1) % 10}`,
        label: `only ${CATEGORIES[category].toLowerCase()}`,
        group: "only that one",
        hinted: n === 0,
        run: () => {
          onChange(onlyCategory(filter, category));
        },
      })),
      // The chosen action has the focus, and then this key is the browser's own; else it chooses one.
      { keys: "Enter", label: "open at the message", hinted: true, run: move(1) },
      {
        keys: "!",
        label: "failed only",
        hinted: true,
        run: () => {
          onChange({ ...filter, outcome: filter.outcome === "failed" ? null : "failed" });
        },
      },
      { keys: "t", label: "by turn", hinted: true, run: onTurns },
    ];
  }, [rows, current, filter, onChange, onTurns]);
  useKeys(table);
  return current;
}
