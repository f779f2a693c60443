/** React's view of what changes. */

import { useEffect, useEffectEvent } from "react";

import { live } from "./live";
import type { NewsListener } from "./live";

/** Calls `listener` whenever something of the session changed; it may be a new function each time. */
export function useLive(session: string, listener: NewsListener): void {
  const listen = useEffectEvent(listener);
  useEffect(() => live.subscribe(session, listen), [session]);
}
