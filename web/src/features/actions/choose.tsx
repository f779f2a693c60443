/** Whose actions? The sessions that were at work last, and a field to find another one. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo, useState } from "react";
import { Link } from "wouter";

import { sessionsQuery } from "@/api/queries";
import type { SessionItem } from "@/api/types";
import { useTitle } from "@/features/shell/use-title";
import { actionsPath } from "@/lib/action-filter";
import { describeDay } from "@/lib/days";
import { formatClock, formatCounted, formatSpan } from "@/lib/format";
import { baseName } from "@/lib/names";
import { NO_FILTER } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";
import { StateMark } from "@/ui/state-mark";

const SHOWN = 40;

export function ChooseSession() {
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim());
  const query = useInfiniteQuery(sessionsQuery({ ...NO_FILTER, text: wanted === "" ? null : wanted }));
  const sessions = useMemo(() => query.data?.pages[0]?.items.slice(0, SHOWN) ?? [], [query.data]);
  useTitle("Action log");
  return (
    <main id="main" className="al" tabIndex={-1}>
      <div className="al-in al-choose">
        <h1>Action log</h1>
        <p className="lead">
          Every call and event of a session, with how long it took and how it ended. Which session?
        </p>
        <label className="find">
          <Icon name="grep" className="i-s" />
          <span className="sr">Find a session by its title</span>
          <input
            type="search"
            placeholder="Find a session"
            autoComplete="off"
            spellCheck={false}
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value);
            }}
          />
        </label>
        {query.isPending && <Skeleton rows={8} shape="session" />}
        {query.isError && (
          <Notice title="The sessions could not be listed." detail={query.error.message}>
            <button type="button" onClick={() => void query.refetch()}>
              Try again
            </button>
          </Notice>
        )}
        {query.isSuccess && sessions.length === 0 && (
          <p className="nobody">
            {wanted === "" ? "There are no sessions yet." : "No session has that title."}
          </p>
        )}
        <ul>
          {sessions.map((session) => (
            <Choice key={session.key} session={session} />
          ))}
        </ul>
      </div>
    </main>
  );
}

function Choice({ session }: { readonly session: SessionItem }) {
  const day = describeDay(session.last_at, new Date());
  return (
    <li>
      <Link href={actionsPath(session.key)}>
        <StateMark state={session.state ?? null} />
        <b className="clip">{showControls(session.title ?? session.first_prompt ?? session.session_id)}</b>
        <span className="meta clip">{session.project !== null && baseName(session.project)}</span>
        <span className="meta num">{formatCounted(session.calls, "call")}</span>
        <span className="meta num">{formatSpan(session.duration_ms)}</span>
        <span className="meta num">
          {day.name}, {formatClock(session.last_at)}
        </span>
      </Link>
    </li>
  );
}
