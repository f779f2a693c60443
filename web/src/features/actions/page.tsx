/** The action log: every call and event of a session, in order or the slowest first. */

import "@/styles/actions.css";

import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";
import { Link, useLocation, useParams, useSearch } from "wouter";

import { sessionQuery, turnsQuery } from "@/api/queries";
import type { SessionItem, Turn } from "@/api/types";
import { useTitle } from "@/features/shell/use-title";
import { actionsPath, NO_ACTION_FILTER, parseActionFilter } from "@/lib/action-filter";
import type { ActionFilter } from "@/lib/action-filter";
import { formatCount } from "@/lib/format";
import { buildLogRows, listNames } from "@/state/actions/rows";
import { useStore } from "@/state/binding";
import { keptStore } from "@/state/settings";
import { Button } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { useActionKeys } from "./action-keys";
import { Bar, Categories } from "./bar";
import { ChooseSession } from "./choose";
import { ActionList } from "./list";
import { OverviewPlot } from "./overview";
import { saveActions } from "./save";
import { useLog } from "./use-log";

const turnHeads = keptStore("turnlog.action-turns", ["shown", "hidden"], "shown");
const NO_TURNS: readonly Turn[] = [];

export function ActionsPage() {
  const { session } = useParams<{ session?: string }>();
  return session === undefined ? <ChooseSession /> : <Log key={session} session={session} />;
}

function Log({ session }: { readonly session: string }) {
  const search = useSearch();
  const [, navigate] = useLocation();
  const filter = useMemo(() => parseActionFilter(search), [search]);
  const change = useCallback(
    (next: ActionFilter) => {
      navigate(actionsPath(session, next), { replace: true });
    },
    [session, navigate],
  );
  const detail: SessionItem | null = useQuery(sessionQuery(session)).data?.session ?? null;
  const turns = useQuery(turnsQuery(session)).data?.items ?? NO_TURNS;
  const { log, state } = useLog(session, filter);
  const byTurn = useStore(turnHeads) === "shown" && filter.sort === "order";
  const rows = useMemo(
    () => buildLogRows(state.items, turns, byTurn, state.complete),
    [state.items, state.complete, turns, byTurn],
  );
  const names = useMemo(() => listNames(state.names, filter.name), [state.names, filter.name]);
  const current = useActionKeys({ rows, filter, onChange: change, onTurns: toggleTurns });
  const scroller = useRef<HTMLElement>(null);
  const { gathering, error, save } = useSaving(session, filter);
  useTitle("Action log", detail?.title);

  const more = useCallback(() => void log.more(), [log]);
  const live = detail?.state === "working" || detail?.state === "needs_you";
  return (
    <main id="main" ref={scroller} className="al" tabIndex={-1}>
      <div className="al-in">
        <Bar
          session={detail}
          total={state.status === "open" ? state.total : null}
          filter={filter}
          names={names}
          onChange={(part) => {
            change({ ...filter, ...part });
          }}
          gathering={gathering}
          onSave={save}
        />
        <Categories filter={filter} counts={state.counts} onChange={change} />
        <OverviewPlot spans={state.overview} failed={state.failed} live={live} />
        {error && <Notice title="The file could not be created." detail={error.message} />}
        {state.error && (
          <Notice title="The actions could not be loaded." detail={state.error.message}>
            <button type="button" onClick={() => void log.retry()}>
              Try again
            </button>
          </Notice>
        )}
        {state.status === "opening" ? (
          <Skeleton rows={12} shape="turn" />
        ) : rows.length === 0 && !state.error ? (
          <Nothing session={session} filter={filter} onChange={change} />
        ) : (
          <div role="table" aria-label="Actions" aria-rowcount={state.total}>
            <Heads />
            <ActionList
              session={session}
              rows={rows}
              current={current}
              missing={Math.max(0, state.total - state.items.length)}
              scroller={scroller}
              onNearEnd={more}
            />
          </div>
        )}
      </div>
    </main>
  );
}

function toggleTurns(): void {
  turnHeads.set((shown) => (shown === "shown" ? "hidden" : "shown"));
}

function Heads() {
  return (
    <div role="rowgroup" className="al-heads">
      <div role="row">
        <span role="columnheader">Time</span>
        <span role="columnheader">Category</span>
        <span role="columnheader">Action</span>
        <span role="columnheader">With</span>
        <span role="columnheader">Outcome</span>
        <span role="columnheader" className="num">
          Took
        </span>
        <span role="columnheader" className="ba">
          1 ms to 1 m, log
        </span>
      </div>
    </div>
  );
}

interface NothingProps {
  readonly session: string;
  readonly filter: ActionFilter;
  readonly onChange: (filter: ActionFilter) => void;
}

function Nothing({ session, filter, onChange }: NothingProps) {
  const narrowed = actionsPath(session, filter) !== actionsPath(session, { ...NO_ACTION_FILTER, off: [] });
  return (
    <div className="none" role="status">
      <b>{narrowed ? "No actions match." : "There are no actions here."}</b>
      {narrowed ? (
        <>
          <p>All filters must match. Remove one, or clear them all.</p>
          <Button
            onClick={() => {
              onChange({ ...NO_ACTION_FILTER, off: [] });
            }}
          >
            Show all actions
          </Button>
        </>
      ) : (
        <Link className="btn" href={`/sessions/${encodeURIComponent(session)}`}>
          Read the conversation
        </Link>
      )}
    </div>
  );
}

/** Gathering takes a while for a long session, and says how far it is. */
function useSaving(session: string, filter: ActionFilter) {
  const [gathering, setGathering] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const save = () => {
    setError(null);
    setGathering("…");
    saveActions(session, filter, (done, total) => {
      setGathering(`${formatCount(done)} of ${formatCount(total)}`);
    })
      .catch((cause: unknown) => {
        setError(cause instanceof Error ? cause : new Error(String(cause)));
      })
      .finally(() => {
        setGathering(null);
      });
  };
  return { gathering, error, save };
}
