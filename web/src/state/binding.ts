/** React's view of a store. */

import { useSyncExternalStore } from "react";

import type { Store } from "@/lib/store";

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}

/** A part of a store's value; `pick` must return the same thing for the same value. */
export function usePart<T, P>(store: Store<T>, pick: (value: T) => P): P {
  return useSyncExternalStore(store.subscribe, () => pick(store.get()));
}
