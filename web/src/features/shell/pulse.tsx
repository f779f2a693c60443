/** Who needs you and who works, else how the archive keeps up: in the top bar of every page. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { statusQuery } from "@/api/queries";
import type { Status } from "@/api/types";
import { formatCount } from "@/lib/format";

export function Pulse() {
  const { data } = useQuery(statusQuery());
  if (!data) return null;
  const { mark, text } = describe(data.sync);
  const needs = data.needs_you;
  const working = data.working;
  if (mark === "idle" && needs + working > 0)
    return (
      <div className="pulse" role="status">
        {needs > 0 && (
          <Link className="needs" href="/mission-control">
            <span className="st st-wait" aria-hidden="true" />
            {formatCount(needs)} {needs === 1 ? "needs" : "need"} you
          </Link>
        )}
        {working > 0 && (
          <Link className="works" href="/mission-control">
            <span className="st st-work" aria-hidden="true" />
            {formatCount(working)} working
          </Link>
        )}
      </div>
    );
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
  if (sync.phase === "failed" || sync.failing) return { mark: "fail", text: "Sync is failing" };
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
