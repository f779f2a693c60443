/** The messages of a session, loaded where one looks. */

import { useEffect, useMemo, useState } from "react";

import { getMessages } from "@/api/client";
import { useStore } from "@/state/binding";
import { Flow } from "@/state/flow/flow";
import { createFolds } from "@/state/flow/folds";
import { buildRows } from "@/state/flow/rows";
import type { Turn } from "@/api/types";
import { level } from "@/state/settings";

export function useFlow(session: string, turns: readonly Turn[]) {
  const [flow] = useState(
    () => new Flow((which, source, signal) => getMessages(session, which, source, signal)),
  );
  const [folds] = useState(createFolds);
  const [runs] = useState(createFolds);
  const state = useStore(flow.state);
  const shown = useStore(level);
  const openRuns = useStore(runs);
  const rows = useMemo(
    () => buildRows(state.layout, { level: shown, turns, openRuns }),
    [state.layout, shown, turns, openRuns],
  );
  useEffect(
    () => () => {
      flow.close();
    },
    [flow],
  );
  return { flow, folds, runs, state, rows };
}
