/** How the archive keeps up, in the top bar of every page. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { statusQuery } from "@/api/queries";
import type { Status } from "@/api/types";
import { formatCount } from "@/lib/format";

export function Pulse() {
  const { data } = useQuery(statusQuery());
  useRefresh(data?.last_change);
  if (!data) return null;
  const { mark, text } = describe(data.sync);
  return (
    <div className="pulse" role="status">
      <span className={mark === "fail" ? "fail" : undefined}>
        <span className={`st st-${mark}`} aria-hidden="true" />
        {text}
      </span>
    </div>
  );
}

function describe(sync: Status["sync"]): { readonly mark: "work" | "idle" | "fail"; readonly text: string } {
  if (sync.phase === "failed" || sync.failing) return { mark: "fail", text: "Sync fails" };
  switch (sync.phase) {
    case "starting":
    case "syncing":
      return {
        mark: "work",
        text:
          sync.total > 0
            ? `Reading ${formatCount(sync.done)} of ${formatCount(sync.total)}`
            : "Reading sessions",
      };
    case "off":
      return { mark: "idle", text: "Not syncing" };
    case "watching":
    case "elsewhere":
      return { mark: "idle", text: "Listening" };
  }
}

/** So long a list is not loaded again as a whole whenever something happens in one session. */
const MOST_PAGES = 3;

/** What has changed on the server is asked for again. */
function useRefresh(change: number | undefined): void {
  const client = useQueryClient();
  const known = useRef<number | undefined>(undefined);
  useEffect(() => {
    const before = known.current;
    known.current = change;
    if (before === undefined || change === undefined || before === change) return;
    void client.invalidateQueries({
      predicate: ({ queryKey: [name], state }) => {
        const pages = (state.data as { pages?: readonly unknown[] } | undefined)?.pages?.length ?? 0;
        return name !== "status" && name !== "calls" && pages <= MOST_PAGES;
      },
    });
  }, [change, client]);
}
