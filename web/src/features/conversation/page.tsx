/** A conversation: its contents at the left, and all that was said and done. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";

import { changeMarks } from "@/api/client";
import { sessionQuery, turnsQuery } from "@/api/queries";
import type { SessionDetail, Turn } from "@/api/types";
import { useTitle } from "@/features/shell/use-title";
import { baseName } from "@/lib/names";
import { createStore } from "@/lib/store";
import type { Row } from "@/state/flow/rows";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Contents } from "./contents";
import { ConversationProvider } from "./context";
import { useConversationKeys } from "./conversation-keys";
import { FlowView } from "./flow-view";
import type { FlowHandle } from "./flow-view";
import { PhoneHead, PhoneTabs, Place, Silent } from "./frame";
import { useFlow } from "./use-flow";
import { useHashLink, useTarget } from "./use-target";

interface PageProps {
  readonly session: string;
  /** The uuid of the message that the address names. */
  readonly message: string | null;
}

const NO_TURNS: readonly Turn[] = [];

export function ConversationPage({ session, message }: PageProps) {
  const detail = useQuery(sessionQuery(session));
  const turns = useQuery(turnsQuery(session)).data?.items ?? NO_TURNS;
  const { flow, folds, runs, state, rows } = useFlow(session, turns);
  const [drawn, setDrawn] = useState(false);
  const [said, announce] = useState("");
  // Outside of React: it changes with every row that is passed, and only few parts look at it.
  const [passed] = useState(() => createStore<Row | null>(null));
  const handle = useRef<FlowHandle>(null);
  const { current, setCurrent, goTo, missing } = useTarget(message, flow, rows, handle);
  const star = useStarOf(detail.data);

  useTitle(detail.data?.session.title, detail.data?.session.project && baseName(detail.data.session.project));
  useHashLink(session);
  useConversationKeys({
    session,
    rows,
    turns,
    passed,
    current,
    setCurrent,
    goTo,
    handle,
    folds,
    runs,
    announce,
  });
  useEffect(() => {
    document.body.classList.add("page-conv");
    return () => {
      document.body.classList.remove("page-conv");
    };
  }, []);

  const context = useMemo(() => ({ session, folds, runs, announce }), [session, folds, runs]);
  const failure = detail.error ?? (state.status === "failed" ? state.error : null);
  if (failure)
    return (
      <Unreadable
        message={failure.message}
        onRetry={() =>
          void detail.refetch().then(() => {
            flow.forgive();
            void flow.open(message);
          })
        }
      />
    );
  return (
    <ConversationProvider value={context}>
      <PhoneHead detail={detail.data} />
      <div className="conv">
        {detail.data ? (
          <Contents
            detail={detail.data}
            turns={turns}
            session={session}
            passed={passed}
            drawn={drawn}
            onStar={star}
            onChoose={() => {
              setDrawn(false);
            }}
          />
        ) : (
          <aside className="side left" aria-label="Session and turns">
            <Skeleton rows={6} shape="turn" />
          </aside>
        )}
        <main id="main" className="mid" tabIndex={-1}>
          <Place
            turns={turns}
            passed={passed}
            drawn={drawn}
            onDraw={() => {
              setDrawn(!drawn);
            }}
          />
          {missing && (
            <Notice
              title="That message is not here."
              detail="It may stand in another session; this is the beginning of the one that was asked for."
            />
          )}
          {!missing && state.status === "open" && state.error !== null && (
            <Notice title="More could not be loaded." detail={state.error.message}>
              <button
                type="button"
                onClick={() => {
                  flow.forgive();
                }}
              >
                Try again
              </button>
            </Notice>
          )}
          {state.status === "opening" ? (
            <div className="flow-wait">
              <Skeleton rows={9} shape="message" />
            </div>
          ) : rows.length === 0 ? (
            <Silent total={state.total} />
          ) : (
            <FlowView
              ref={handle}
              flow={flow}
              rows={rows}
              current={current}
              filling={state.error === null}
              onPass={passed.set}
              onPick={setCurrent}
            />
          )}
        </main>
      </div>
      <PhoneTabs
        onTurns={() => {
          setDrawn(!drawn);
        }}
        onEnd={() => handle.current?.scrollToEnd()}
      />
      <div className="sr" role="status">
        {said}
      </div>
    </ConversationProvider>
  );
}

function useStarOf(detail: SessionDetail | undefined): () => void {
  const client = useQueryClient();
  return useCallback(() => {
    if (!detail) return;
    const { key, marks } = detail.session;
    void changeMarks(key, { starred: !marks.starred }).finally(() => {
      void client.invalidateQueries({ queryKey: ["session"] });
      void client.invalidateQueries({ queryKey: ["sessions"] });
    });
  }, [detail, client]);
}

function Unreadable({ message, onRetry }: { readonly message: string; readonly onRetry: () => void }) {
  return (
    <main id="main" className="none">
      <Notice title="This session could not be read." detail={message}>
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      </Notice>
      <Link className="btn" href="/sessions">
        All sessions
      </Link>
    </main>
  );
}
