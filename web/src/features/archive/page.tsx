/** Problems: what is wrong, what only the archive still has, and looking after it. */

import "@/styles/usage.css";
import "@/styles/archive.css";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import { archiveQuery, deleteTombstone } from "@/api/archive";
import type { ArchiveOverview } from "@/api/archive";
import { onlyHereQuery } from "@/api/lists";
import { useTitle } from "@/features/shell/use-title";
import { formatBytes, formatCount, formatDate } from "@/lib/format";
import { peoplePath } from "@/lib/people-routes";
import { NO_FILTER, sessionsPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { useMe } from "@/state/use-me";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { ForgetDialog, RestoreDialog } from "./dialogs";
import type { Subject } from "./dialogs";
import { Flawed, OnlyHere, Section, Soon, Tombstones } from "./lists";
import { Verify } from "./verify";

export function ArchivePage() {
  const { data, error, refetch } = useQuery(archiveQuery());
  useTitle("Problems");
  return (
    <main id="main" className="us care" tabIndex={-1}>
      {data ? (
        <Report report={data} />
      ) : error ? (
        <Notice title="The archive could not be read." detail={error.message}>
          <button type="button" onClick={() => void refetch()}>
            Try again
          </button>
        </Notice>
      ) : (
        <Skeleton rows={8} shape="session" />
      )}
    </main>
  );
}

const ASKED: ReadonlySet<unknown> = new Set(["forget", "restore"]);

type Deed = { readonly kind: "forget" | "restore"; readonly subject: Subject } | null;

function Report({ report }: { readonly report: ArchiveOverview }) {
  const client = useQueryClient();
  const onlyHere = useQuery({ ...onlyHereQuery(), enabled: report.only_here > 0 }).data?.items ?? [];
  const [deed, setDeed] = useDeed();
  const [said, announce] = useState("");
  // Not what a dialog asked for: it is about what is no longer there.
  const refresh = () => client.invalidateQueries({ predicate: ({ queryKey }) => !ASKED.has(queryKey[0]) });
  const lift = useMutation({
    mutationFn: deleteTombstone,
    onSuccess: () => {
      announce("It can be archived again, by the next sync that finds it.");
    },
    onSettled: refresh,
  });
  const done = (text: string) => {
    announce(text);
    void refresh();
  };
  const onForget = (subject: Subject) => {
    setDeed({ kind: "forget", subject });
  };
  const onRestore = (subject: Subject) => {
    setDeed({ kind: "restore", subject });
  };
  const close = () => {
    setDeed(null);
  };
  return (
    <>
      <header className="ar-head">
        <h1>
          {describe(report)} <span>{describeRest(report)}</span>
        </h1>
      </header>
      <p className="said" role="status">
        {said}
      </p>
      {lift.isError && <Notice title="That did not work." detail={lift.error.message} />}
      <div className="gridu">
        <div>
          {report.sessions_with_problems_total > 0 && (
            <Section
              title="What validation found"
              count={report.sessions_with_problems_total}
              note="Lines that are broken, or of a kind that turnlog does not know. They are kept unchanged."
            >
              <Flawed sessions={report.sessions_with_problems} onForget={onForget} />
            </Section>
          )}
          {report.only_here > 0 && (
            <Section
              title="Deleted by Claude Code, kept here"
              count={report.only_here}
              note="Their files are gone from where Claude Code wrote them. Restoring writes them back, byte for byte."
              more={
                report.only_here > onlyHere.length && (
                  <Link className="btn-link" href={sessionsPath({ ...NO_FILTER, only_here: true })}>
                    All of them
                  </Link>
                )
              }
            >
              <OnlyHere sessions={onlyHere} onForget={onForget} onRestore={onRestore} />
            </Section>
          )}
          {report.deleted_soon_total > 0 && (
            <Section
              title="About to be deleted by Claude Code"
              count={report.deleted_soon_total}
              note={describeSoon(report)}
            >
              <Soon sessions={report.deleted_soon} />
            </Section>
          )}
          {report.tombstones_total > 0 && (
            <Section
              title="Forgotten"
              count={report.tombstones_total}
              note="They are not archived again, even if their files still exist, unless you allow it."
            >
              <Tombstones tombstones={report.tombstones} onLift={lift.mutate} />
            </Section>
          )}
          {report.sessions_with_problems_total + report.only_here + report.deleted_soon_total === 0 && (
            <div className="none">
              <b>Nothing needs attention.</b>
              <p>Every line was understood, and every file is still where Claude Code wrote it.</p>
            </div>
          )}
        </div>
        <div>
          <Facts report={report} />
          <Verify job={report.verify} />
        </div>
      </div>
      {deed?.kind === "forget" && <ForgetDialog subject={deed.subject} onDone={done} onClose={close} />}
      {deed?.kind === "restore" && <RestoreDialog subject={deed.subject} onDone={done} onClose={close} />}
    </>
  );
}

/** What is asked about; `?forget=KEY` and `?restore=KEY` ask from elsewhere. */
function useDeed(): readonly [Deed, (deed: Deed) => void] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const [titles, setTitles] = useState<ReadonlyMap<string, string>>(new Map());
  const params = new URLSearchParams(search);
  const kind = params.has("forget") ? "forget" : "restore";
  const key = params.get(kind);
  const deed = key === null ? null : { kind, subject: { key, title: titles.get(key) ?? key } };
  return [
    deed as Deed,
    (next) => {
      if (next) setTitles(new Map([...titles, [next.subject.key, next.subject.title]]));
      const query = next ? `?${new URLSearchParams({ [next.kind]: next.subject.key })}` : "";
      navigate(`/problems${query}`, { replace: next === null });
    },
  ];
}

function describe({ sessions_with_problems_total: flawed }: ArchiveOverview): string {
  if (flawed === 0) return "No problems.";
  return flawed === 1 ? "One session has problems." : `${formatCount(flawed)} sessions have problems.`;
}

function describeRest({ only_here: here, deleted_soon_total: soon }: ArchiveOverview): string {
  return [
    here > 0 && `${formatCount(here)} ${here === 1 ? "exists" : "exist"} only here.`,
    soon > 0 && `Claude Code will delete ${formatCount(soon)} soon.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function describeSoon({ retention_days: days, not_archived: lost }: ArchiveOverview): string {
  const rule = `Claude Code deletes sessions after ${formatCount(days)} days.`;
  return lost === 0
    ? `${rule} You don’t have to do anything: all of these are kept here.`
    : `${rule} ${formatCount(lost)} of these ${lost === 1 ? "is" : "are"} not archived yet: run turnlog sync.`;
}

function Facts({ report }: { readonly report: ArchiveOverview }) {
  return (
    <section className="fig" aria-labelledby="facts-title">
      <header>
        <h2 id="facts-title">Archive</h2>
      </header>
      <dl className="facts">
        <div>
          <dt>Sessions</dt>
          <dd>{formatCount(report.sessions)}</dd>
        </div>
        <div>
          <dt>On disk</dt>
          <dd>
            {formatBytes(report.bytes)} for {formatBytes(report.raw_bytes)} of files
          </dd>
        </div>
        <div>
          <dt>Location</dt>
          <dd>
            {report.place === null ? (
              "in memory"
            ) : (
              <code title={report.place}>{showControls(report.place)}</code>
            )}
          </dd>
        </div>
        <People />
        <div>
          <dt>Backups</dt>
          <dd>
            {report.backups.length === 0 ? (
              <>
                none; <code>turnlog backup</code> creates one
              </>
            ) : (
              <ul>
                {report.backups.map((backup) => (
                  <li key={backup.path} title={backup.path}>
                    {formatDate(backup.at)},{" "}
                    {backup.size === null ? "no longer there" : formatBytes(backup.size)}
                  </li>
                ))}
              </ul>
            )}
          </dd>
        </div>
      </dl>
    </section>
  );
}

/** Whose archive it is; where it is one person's, how it becomes a team's. */
function People() {
  const me = useMe();
  if (me === undefined) return null;
  return (
    <div>
      <dt>People</dt>
      <dd>
        {me.team ? "a team; " : "yours alone; "}
        <Link className="btn-link" href={peoplePath()}>
          {me.team ? "People" : "Set up a team"}
        </Link>
      </dd>
    </div>
  );
}
