/** The lists of the page: what is wrong, what stands only here, what is about to be deleted, what was forgotten. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactNode } from "react";
import { Link } from "wouter";

import { problemsQuery } from "@/api/archive";
import type { EndangeredSession, FlawedSession, ForgottenSession } from "@/api/archive";
import type { SessionItem } from "@/api/types";
import { formatBytes, formatCount, formatCounted, formatDate, formatMoment } from "@/lib/format";
import { baseName } from "@/lib/names";
import { sessionPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { Button } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import type { Subject } from "./dialogs";

interface SectionProps {
  readonly title: string;
  readonly count: number;
  readonly note: string;
  readonly more?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, count, note, more, children }: SectionProps) {
  return (
    <section className="fig" aria-label={title}>
      <header>
        <h2>
          {title} <span className="n">{formatCount(count)}</span>
        </h2>
        <span className="grow" />
        {more}
      </header>
      <p className="quiet">{note}</p>
      {children}
    </section>
  );
}

interface Acts {
  readonly onForget: (subject: Subject) => void;
  readonly onRestore: (subject: Subject) => void;
}

/** What validation found, by session; open one for the lines. */
export function Flawed({
  sessions,
  onForget,
}: { readonly sessions: readonly FlawedSession[] } & Pick<Acts, "onForget">) {
  return (
    <div className="ar-list">
      {sessions.map((session) => (
        <FlawedRow key={session.key} session={session} onForget={onForget} />
      ))}
    </div>
  );
}

function FlawedRow({ session, onForget }: { readonly session: FlawedSession } & Pick<Acts, "onForget">) {
  const [open, setOpen] = useState(false);
  const title = session.title ?? session.session_id;
  return (
    <details
      className="ar-flaw"
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
      }}
    >
      <summary>
        <Icon name="right" className="chev" />
        <span className="clip">
          <bdi>{showControls(title)}</bdi>
        </span>
        <span className="num">{formatCounted(session.problems, "problem")}</span>
      </summary>
      {open && <Flaws session={session} title={title} onForget={onForget} />}
    </details>
  );
}

interface FlawsProps extends Pick<Acts, "onForget"> {
  readonly session: FlawedSession;
  readonly title: string;
}

function Flaws({ session, title, onForget }: FlawsProps) {
  const { data, error } = useQuery(problemsQuery(session.key));
  return (
    <div className="ar-flaws">
      {error && <Notice title="The problems could not be listed." detail={error.message} />}
      {!data && !error && <Skeleton rows={3} shape="turn" />}
      <ul>
        {data?.items.map((problem, at) => (
          <li key={at}>
            <span className="kind">{problem.kind}</span>
            <span>{showControls(problem.message)}</span>
            <code className="meta clip" title={problem.path}>
              {showControls(baseName(problem.path))}:{problem.line + 1}
            </code>
          </li>
        ))}
        {data?.next != null && (
          <li className="quiet">and more; only the first {formatCount(data.items.length)} are shown</li>
        )}
      </ul>
      <p className="acts-row">
        <Link className="btn btn-s" href={sessionPath(session.key)}>
          Read it
        </Link>
        <Button
          className="btn-s"
          onClick={() => {
            onForget({ key: session.key, title });
          }}
        >
          Forget…
        </Button>
      </p>
    </div>
  );
}

export function OnlyHere({
  sessions,
  onForget,
  onRestore,
}: { readonly sessions: readonly SessionItem[] } & Acts) {
  return (
    <ul className="ar-list">
      {sessions.map((session) => {
        const title = session.title ?? session.first_prompt ?? session.session_id;
        const subject = { key: session.key, title };
        return (
          <li key={session.key} className="ar-row">
            <Link className="clip" href={sessionPath(session.key)}>
              <bdi>{showControls(title)}</bdi>
            </Link>
            <span className="meta">{session.project !== null && baseName(session.project)}</span>
            <span className="meta num" title={formatMoment(session.last_at)}>
              {formatDate(session.last_at)}
            </span>
            <span className="row-acts">
              <Button
                className="btn-s btn-bare"
                onClick={() => {
                  onRestore(subject);
                }}
              >
                Restore…
              </Button>
              <Button
                className="btn-s btn-bare"
                onClick={() => {
                  onForget(subject);
                }}
              >
                Forget…
              </Button>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

export function Soon({ sessions }: { readonly sessions: readonly EndangeredSession[] }) {
  return (
    <ul className="ar-list">
      {sessions.map((session) => (
        <li key={session.session_id} className="ar-row">
          {session.key === null ? (
            <bdi className="clip">{showControls(session.title ?? session.session_id)}</bdi>
          ) : (
            <Link className="clip" href={sessionPath(session.key)}>
              <bdi>{showControls(session.title ?? session.session_id)}</bdi>
            </Link>
          )}
          <span className="meta">
            {session.archived ? (
              session.project !== null && baseName(session.project)
            ) : (
              <span className="wait">{formatBytes(session.missing_bytes)} not archived yet</span>
            )}
          </span>
          <span className="meta num" title={formatMoment(session.deletes_at)}>
            {formatDate(session.deletes_at)}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface ForgottenProps {
  readonly tombstones: readonly ForgottenSession[];
  readonly onLift: (session: string) => void;
}

export function Tombstones({ tombstones, onLift }: ForgottenProps) {
  return (
    <ul className="ar-list">
      {tombstones.map((tombstone) => (
        <li key={tombstone.key} className="ar-row">
          <code className="clip">{showControls(tombstone.session_id ?? tombstone.key)}</code>
          <span />
          <span className="meta num" title={formatMoment(tombstone.at)}>
            {formatDate(tombstone.at)}
          </span>
          <span className="row-acts">
            <Button
              className="btn-s btn-bare"
              onClick={() => {
                onLift(tombstone.key);
              }}
            >
              Allow again
            </Button>
          </span>
        </li>
      ))}
    </ul>
  );
}
