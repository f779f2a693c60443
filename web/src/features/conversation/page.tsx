/** A conversation: its contents at the left, all that was said in the middle, what was done for it at the right. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { sessionQuery } from "@/api/queries";
import type { Agent } from "@/api/types";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Contents } from "./contents";
import { ConversationProvider } from "./context";
import { Dialogs } from "./dialogs";
import { FindBar } from "./find";
import { FlowView } from "./flow-view";
import { NewsPill, TailLine } from "./follow";
import { PhoneHead, PhoneTabs, Place, Silent } from "./frame";
import { Gone, isMissing, Unreadable } from "./gone";
import { Heard } from "./heard";
import { SidechainPanel } from "./sidechain/panel";
import { usePage } from "./use-page";
import type { PageProps, PageState } from "./use-page";

/** A session that is there; one that nobody has seen, or that may not be seen any more, is told of as gone. */
export function ConversationPage(props: PageProps) {
  const { session } = props;
  const detail = useQuery(sessionQuery(session));
  const [gone, setGone] = useState(false);
  const missing = isMissing(detail.error);
  if (missing && !gone) setGone(true);
  // While it is asked for once more it is still gone.
  if (detail.isSuccess && gone) setGone(false);
  if (!gone) return <Open {...props} />;
  return (
    <Gone
      session={session}
      message={detail.error?.message ?? ""}
      onRetry={() => {
        void detail.refetch();
      }}
    />
  );
}

function Open(props: PageProps) {
  const page = usePage(props);
  const { session, detail, conversation, panels, context, said, news, handle } = page;
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
    return isMissing(failure) ? <Heard session={session} onRetry={retry} otherwise={unreadable} /> : unreadable;
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
      <Dialogs page={page} />
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
      onShare={() => {
        page.setSharing("share");
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
        detail="It may be in another session; this is the beginning of the one you asked for."
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

function agentOf(
  agents: ReadonlyMap<string, Agent>,
  agent: string | null,
  source: string | null,
): Agent | undefined {
  if (agent !== null) return agents.get(agent);
  return [...agents.values()].find((each) => each.source === source);
}
