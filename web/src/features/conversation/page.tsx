/** A conversation: its contents at the left, all that was said in the middle, what was done for it at the right. */

import { Link } from "wouter";

import type { Agent } from "@/api/types";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Contents } from "./contents";
import { ConversationProvider } from "./context";
import { FindBar } from "./find";
import { FlowView } from "./flow-view";
import { NewsPill, TailLine } from "./follow";
import { PhoneHead, PhoneTabs, Place, Silent } from "./frame";
import { RawDialog } from "./raw";
import { SidechainPanel } from "./sidechain/panel";
import { usePage } from "./use-page";
import type { PageProps, PageState } from "./use-page";

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
    return <Unreadable message={failure.message} onRetry={retry} />;
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
        onFind={() => {
          page.setFinding(true);
        }}
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
      onChoose={() => {
        panels.setDrawn(null);
      }}
    />
  );
}

function Middle({ page }: PartProps) {
  const { session, turns, conversation, panels, stores, finding, setFinding, news, handle } = page;
  const { agents, alone, state } = conversation;
  return (
    <>
      <Place
        turns={turns}
        passed={stores.passed}
        alone={alone ? { agent: agentOf(agents, page.agent, state.source), session } : null}
        drawn={panels.drawn === "turns"}
        finding={finding}
        sidechain={panels.beside || panels.drawn === "sidechain"}
        onDraw={panels.toggleTurns}
        onFind={() => {
          setFinding(!finding);
        }}
        onSidechain={panels.toggleSidechain}
      />
      {finding && (
        <FindBar
          session={page.detail.data?.session.key ?? session}
          reading={() => {
            const row = stores.passed.get();
            return row && row.kind !== "gap" ? row.index : 0;
          }}
          onGo={page.goToPlace}
          onClose={() => {
            setFinding(false);
          }}
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
