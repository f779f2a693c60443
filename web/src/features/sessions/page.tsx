/** Sessions: all of them by day, narrowed down, one click from being read. */

import { useCallback, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { useTitle } from "@/features/shell/use-title";
import { formatCount } from "@/lib/format";
import { isNarrowed, NO_FILTER, sessionPath, SORTS } from "@/lib/routes";
import type { SessionFilter, SessionSort } from "@/lib/routes";
import { useStore } from "@/state/binding";
import type { Binding } from "@/state/keys";
import { buildListRows } from "@/state/session-rows";
import { density } from "@/state/settings";
import { useKeys } from "@/state/use-keys";
import { Button, Chip, Segments } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Empty } from "./empty";
import { Facets } from "./facets";
import { SessionList } from "./list";
import { Columns } from "./rows";
import { useFilter, useSessions, useStar } from "./use-sessions";

export function SessionsPage() {
  const [filter, change] = useFilter();
  const query = useSessions(filter);
  const { sessions, total, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  const rowHeight = useStore(density);
  const star = useStar();
  const scroller = useRef<HTMLElement>(null);
  const complete = query.isSuccess && !hasNextPage;
  const byDay = filter.sort === "newest" || filter.sort === "oldest";
  const rows = useMemo(
    () => buildListRows(sessions, { sort: filter.sort, now: new Date(), complete }),
    [sessions, filter.sort, complete],
  );
  const current = useCurrentRow(sessions, star);
  useTitle("Sessions");

  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  const narrowed = isNarrowed(filter);
  if (query.isSuccess && total === 0 && !narrowed && !query.isPlaceholderData) {
    return <Empty onLook={() => void refetch()} />;
  }
  return (
    <div className="wrap">
      <Facets filter={filter} onChange={change} sessions={sessions} complete={complete} />
      <main
        id="main"
        ref={scroller}
        className={query.isPlaceholderData ? "list dim" : "list"}
        data-rows={rowHeight}
        tabIndex={-1}
      >
        <ListBar filter={filter} onChange={change} total={query.isSuccess ? total : null} />
        {query.isError && sessions.length === 0 ? (
          <Notice title="The sessions could not be listed." detail={query.error.message}>
            <button type="button" onClick={() => void refetch()}>
              Try again
            </button>
          </Notice>
        ) : query.isSuccess && sessions.length === 0 ? (
          <NoMatch
            onClear={() => {
              change({ ...NO_FILTER, sort: filter.sort });
            }}
          />
        ) : (
          <div role="table" aria-label="Sessions" aria-rowcount={query.isSuccess ? total : undefined}>
            <div role="rowgroup">
              <Columns sort={filter.sort} />
            </div>
            {query.isPending ? (
              <Skeleton rows={10} shape="session" />
            ) : (
              <SessionList
                rows={rows}
                density={rowHeight}
                byDay={byDay}
                current={current}
                missing={Math.max(0, total - sessions.length)}
                scroller={scroller}
                onStar={star}
                onNearEnd={loadMore}
              />
            )}
          </div>
        )}
      </main>
    </div>
  );
}

interface ListBarProps {
  readonly filter: SessionFilter;
  readonly onChange: (change: Partial<SessionFilter>) => void;
  readonly total: number | null;
}

function ListBar({ filter, onChange, total }: ListBarProps) {
  const rowHeight = useStore(density);
  return (
    <div className="bar">
      <h1>
        Sessions <span>{total !== null && formatCount(total)}</span>
      </h1>
      <Chip
        icon="star"
        pressed={filter.starred}
        onToggle={() => {
          onChange({ starred: !filter.starred });
        }}
      >
        Starred
      </Chip>
      <Chip
        className="wide"
        icon="error"
        pressed={filter.errors}
        onToggle={() => {
          onChange({ errors: !filter.errors });
        }}
      >
        Has errors
      </Chip>
      <Chip
        className="wide"
        pressed={filter.only_here}
        onToggle={() => {
          onChange({ only_here: !filter.only_here });
        }}
      >
        Deleted by Claude Code, kept here
      </Chip>
      {filter.text !== null && (
        <Chip
          pressed
          onToggle={() => {
            onChange({ text: null });
          }}
        >
          “{filter.text}” <Icon name="x" />
        </Chip>
      )}
      <div className="grow" />
      <label className="sorter">
        <span className="sr">Order</span>
        <select
          value={filter.sort}
          onChange={(event) => {
            onChange({ sort: event.currentTarget.value as SessionSort });
          }}
        >
          {Object.entries(SORTS).map(([sort, name]) => (
            <option key={sort} value={sort}>
              {name}
            </option>
          ))}
        </select>
        <Icon name="down" className="i-s" />
      </label>
      <Segments
        label="Lines for each session"
        options={[
          ["two", "Two lines"],
          ["one", "One"],
        ]}
        value={rowHeight}
        onChange={density.set}
      />
    </div>
  );
}

function NoMatch({ onClear }: { readonly onClear: () => void }) {
  return (
    <div className="none" role="status">
      <b>No session is like that.</b>
      <p>Every filter has to fit. Take one away, or all of them.</p>
      <Button onClick={onClear}>Show all sessions</Button>
    </div>
  );
}

/** The row that keys act on. */
function useCurrentRow(sessions: ReturnType<typeof useSessions>["sessions"], star: ReturnType<typeof useStar>) {
  const [current, setCurrent] = useState<string | null>(null);
  const [, navigate] = useLocation();
  const table = useMemo<readonly Binding[]>(() => {
    const at = sessions.findIndex((session) => session.key === current);
    const chosen = sessions[at];
    const move = (to: number) => () => {
      const next = sessions[Math.min(Math.max(to, 0), sessions.length - 1)];
      if (next) setCurrent(next.key);
    };
    const open = () => {
      if (chosen) navigate(sessionPath(chosen.key));
    };
    return [
      { keys: "j", label: "next session", group: "move", hinted: true, run: move(at + 1) },
      { keys: "k", label: "session before", group: "move", hinted: true, run: move(at < 0 ? 0 : at - 1) },
      { keys: "o", label: "open", hinted: true, run: open },
      {
        keys: "s",
        label: "star",
        hinted: true,
        run: () => {
          if (chosen) star(chosen);
        },
      },
    ];
  }, [sessions, current, navigate, star]);
  useKeys(table);
  return current;
}
