/** Bindings of the page that is shown. */

import { useEffect } from "react";

import { addBindings } from "./keys";
import type { Binding } from "./keys";

/** `table` must be stable (useMemo): each new one takes the place of the one before. `below`: those of any page count first. */
export function useKeys(table: readonly Binding[], below = false): void {
  useEffect(() => addBindings(table, below), [table, below]);
}
