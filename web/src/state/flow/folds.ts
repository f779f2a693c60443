/** What was opened in a conversation. It outlives the rows, which come and go while one scrolls. */

import { createStore } from "@/lib/store";
import type { Store } from "@/lib/store";

export type Folds = Store<ReadonlySet<string>>;

export function createFolds(): Folds {
  return createStore<ReadonlySet<string>>(new Set());
}

export function toggle(folds: Folds, key: string): void {
  folds.set((open) => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    return next;
  });
}

export function open(folds: Folds, ...keys: readonly string[]): void {
  folds.set((before) => (keys.every((key) => before.has(key)) ? before : new Set([...before, ...keys])));
}
