/** A conversation: its contents at the left, all that was said in the middle, what was done for it at the right. */

import { lazy, Suspense } from "react";
import { Link } from "wouter";

import { ApiError } from "@/api/errors";
import type { Agent, SessionDetail } from "@/api/types";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Contents } from "./contents";
import { ConversationProvider } from "./context";
import { FindBar } from "./find";
import { FlowView } from "./flow-view";
import { NewsPill, TailLine } from "./follow";
import { PhoneHead, PhoneTabs, Place, Silent } from "./frame";
import { Heard } from "./heard";
import { RawDialog } from "./raw";
import { SidechainPanel } from "./sidechain/panel";
import { usePage } from "./use-page";
import type { PageProps, PageState } from "./use-page";

const ExportDialog = lazy(() =>
  import("@/features/exporting/dialog").then((part) => ({ default: part.ExportDialog })),
);

export function ConversationPage(props: PageProps) {
  const page = usePage(props);
  const { session, detail, conversation, panels, context, raw, said, announce, news, handle } = page;
  const { state, flow } = conversation;
  const failure = detail.error ?? (state.status === "failed" ? state.error : null);
  if (failure) {
    const retry = () => {
      void detail.refetch().then(() => {
        flow.forgive();
        page.start();
      });
    };
    const unreadable = <Unreadable message={failure.message} onRetry={retry} />;
    const unknown = failure instanceof ApiError && failure.status === 404;
    return unknown ? <Heard session={session} onRetry={retry} otherwise={unreadable} /> : unreadable;
  }
  return (
    <ConversationProvider value={context}>
      <PhoneHead detail={detail.data} />
      <div className={panels.beside && !conversation.alone ? "conv beside" : "conv"}>
        <Left page={page} />
        <main id="main" className="mid" tabIndex={-1}>
          <Middle page={page} />
        </main>
        <Right page={page} />
      </div>
      <PhoneTabs
        news={news}
        onTurns={panels.toggleTurns}
        onFind={page.finding.open}
        onEnd={() => handle.current?.scrollToEnd()}
        onSidechain={panels.toggleSidechain}
      />
      {raw && (
        <RawDialog
          session={session}
          message={raw}
          announce={announce}
          onClose={() => {
            page.setRaw(null);
          }}
        />
      )}
      {page.exporting && detail.data && (
        <Suspense fallback={null}>
          <ExportDialog
            sessions={[{ key: detail.data.session.key, name: nameOf(detail.data) }]}
            turns={page.turns.length}
            branches={conversation.branches}
            onDone={announce}
            onClose={() => {
              page.setExporting(false);
            }}
          />
        </Suspense>
      )}
      <div className="sr" role="status">
        {said}
      </div>
    </ConversationProvider>
  );
}

interface PartProps {
  readonly page: PageState;
}

function Left({ page }: PartProps) {
  const { session, detail, turns, conversation, panels, stores, star } = page;
  if (!detail.data) {
    return (
      <aside className="side left" aria-label="Session and turns">
        <Skeleton rows={6} shape="turn" />
      </aside>
    );
  }
  return (
    <Contents
      detail={detail.data}
      turns={turns}
      agents={[...conversation.agents.values()]}
      session={session}
      passed={stores.passed}
      drawn={panels.drawn === "turns"}
      onStar={star}
      onExport={() => {
        page.setExporting(true);
      }}
      onChoose={() => {
        panels.setDrawn(null);
      }}
    />
  );
}

function Middle({ page }: PartProps) {
  const { session, turns, conversation, panels, stores, finding, news, handle } = page;
  const { agents, alone, state } = conversation;
  return (
    <>
      <Place
        turns={turns}
        passed={stores.passed}
        alone={alone ? { agent: agentOf(agents, page.agent, state.source), session } : null}
        drawn={panels.drawn === "turns"}
        finding={finding.text !== null}
        sidechain={panels.besideSeen}
        onDraw={panels.toggleTurns}
        onFind={finding.text === null ? finding.open : finding.close}
        onSidechain={panels.toggleSidechain}
      />
      {finding.text !== null && (
        <FindBar
          session={page.detail.data?.session.key ?? session}
          sought={finding.text}
          onSeek={finding.change}
          reading={() => {
            const row = stores.passed.get();
            return row && row.kind !== "gap" ? row.index : 0;
          }}
          onGo={page.goToPlace}
          onClose={finding.close}
        />
      )}
      <Troubles page={page} />
      <Said page={page} />
      <NewsPill news={news} onEnd={() => handle.current?.scrollToEnd()} />
    </>
  );
}

/** What could not be done, and why. */
function Troubles({ page: { target, conversation } }: PartProps) {
  const { state, flow } = conversation;
  if (target.missing) {
    return (
      <Notice
        title="That message is not here."
        detail="It may stand in another session; this is the beginning of the one that was asked for."
      />
    );
  }
  if (state.status !== "open" || state.error === null) return null;
  return (
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
  );
}

function Said({ page }: PartProps) {
  const { conversation, target, panels, stores, handle } = page;
  const { state, rows, flow } = conversation;
  if (state.status === "opening") {
    return (
      <div className="flow-wait">
        <Skeleton rows={9} shape="message" />
      </div>
    );
  }
  if (rows.length === 0) return <Silent total={state.total} />;
  return (
    <FlowView
      ref={handle}
      flow={flow}
      rows={rows}
      current={target.current}
      lit={panels.lit}
      filling={state.error === null}
      onPass={stores.passed.set}
      onPick={target.setCurrent}
      onFollow={stores.following.set}
      tail={page.live && page.following ? <TailLine /> : null}
    />
  );
}

function Right({ page: { session, turns, conversation, panels, stores, target } }: PartProps) {
  const { drawn, beside } = panels;
  if (conversation.alone || (!beside && drawn !== "sidechain")) return null;
  return (
    <SidechainPanel
      session={session}
      turns={turns}
      passed={stores.passed}
      shown={stores.shown}
      asked={panels.asked}
      drawn={drawn === "sidechain"}
      onClose={() => {
        panels.showSidechain(false);
      }}
      onLook={panels.setLit}
      onGo={(message, call) => {
        panels.setAsked(null);
        panels.setDrawn(null);
        void target.goTo(message, call);
      }}
    />
  );
}

function nameOf({ session }: SessionDetail): string {
  return session.title ?? session.first_prompt ?? session.session_id;
}

function agentOf(
  agents: ReadonlyMap<string, Agent>,
  agent: string | null,
  source: string | null,
): Agent | undefined {
  if (agent !== null) return agents.get(agent);
  return [...agents.values()].find((each) => each.source === source);
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
