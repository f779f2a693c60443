/** Audit: who looked at whose sessions, and who changed what. */

import "@/styles/usage.css";
import "@/styles/archive.css";
import "@/styles/people.css";

import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useLocation, useSearch } from "wouter";

import { auditQuery } from "@/api/audit";
import type { Me } from "@/api/me";
import { Alone } from "@/features/people/alone";
import { useTitle } from "@/features/shell/use-title";
import { auditPath, auditQueryOf, parseAudit, WHOLE_AUDIT } from "@/lib/people-routes";
import type { AuditState } from "@/lib/people-routes";
import { byDay } from "@/state/audit";
import { useMe } from "@/state/use-me";
import { Button } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Day } from "./day";
import { Filters } from "./filters";
import { More } from "./more";

export function AuditPage() {
  const me = useMe();
  useTitle("Audit");
  return (
    <main id="main" className="us care audit" tabIndex={-1}>
      {me === undefined ? <Skeleton rows={8} shape="session" /> : me.team ? <Audit me={me} /> : <Alone />}
    </main>
  );
}

function Audit({ me }: { readonly me: Me }) {
  const [, navigate] = useLocation();
  const state = parseAudit(useSearch());
  const query = useInfiniteQuery(auditQuery(state));
  const pages = query.data?.pages;
  const days = useMemo(() => byDay(pages?.flatMap((page) => page.entries) ?? []), [pages]);
  const change = (part: Partial<AuditState>) => {
    navigate(auditPath({ ...state, ...part }));
  };
  const narrowed = auditQueryOf(state).size > 0;
  return (
    <>
      <header className="ar-head">
        <h1>
          Audit.{" "}
          <span>
            {me.is_admin
              ? "Who viewed whose sessions, and who changed what. Entries are never changed."
              : "What you did, and what others did with your sessions and account."}
          </span>
        </h1>
      </header>
      <Filters me={me} state={state} onChange={change} />
      {query.error && (
        <Notice title="The audit log could not be loaded." detail={query.error.message}>
          <button type="button" onClick={() => void query.refetch()}>
            Try again
          </button>
        </Notice>
      )}
      {query.isPending && <Skeleton rows={8} shape="turn" />}
      {pages && days.length === 0 && (
        <div className="none">
          <b>{narrowed ? "No entries match." : "Nothing has been recorded yet."}</b>
          <p>
            {narrowed
              ? "Try other filters."
              : "Viewing somebody else’s session is recorded, and so is every change."}
          </p>
          {narrowed && (
            <Button
              onClick={() => {
                change(WHOLE_AUDIT);
              }}
            >
              Clear all filters
            </Button>
          )}
        </div>
      )}
      <div className={query.isPlaceholderData ? "dim" : undefined}>
        {days.map(({ day, entries }) => (
          <Day key={`${day} ${entries[0]?.id ?? ""}`} day={day} entries={entries} onNarrow={change} />
        ))}
      </div>
      {query.hasNextPage && (
        <More waiting={query.isFetchingNextPage} onMore={() => void query.fetchNextPage()} />
      )}
    </>
  );
}
