/** React's view of the clock. */

import { useSyncExternalStore } from "react";

import { readClock, subscribeClock } from "@/lib/clock";

/** What `read` makes of now; the component is drawn again only when that changes. */
export function useClock<T extends string | number | boolean>(read: (now: number) => T): T {
  return useSyncExternalStore(subscribeClock, () => read(readClock()));
}
