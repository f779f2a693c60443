/** The actions of a session as they are loaded, and kept up while it goes on. */

import { useEffect, useMemo } from "react";

import { listActions } from "@/api/actions";
import { connection } from "@/api/connection";
import type { ActionFilter } from "@/lib/action-filter";
import { actionQuery } from "@/lib/action-filter";
import { ActionLog } from "@/state/actions/log";
import { useStore } from "@/state/binding";
import { useLive } from "@/state/live/use-live";

export function useLog(session: string, filter: ActionFilter) {
  const asked = actionQuery(filter).toString();
  const log = useMemo(
    () =>
      new ActionLog((cursor, signal) => listActions(session, filter, cursor, signal), filter.sort === "order"),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the same filter may come as another object
    [session, asked],
  );
  useEffect(() => {
    void log.more();
    const stop = connection.subscribe(() => {
      if (connection.get() === "ok") void log.retry();
    });
    return stop;
  }, [log]);
  useLive(session, () => void log.refresh());
  return { log, state: useStore(log.state) };
}
