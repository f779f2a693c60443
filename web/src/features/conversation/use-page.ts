/** All that a conversation's page holds and does; `page.tsx` draws it. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { changeMarks } from "@/api/client";
import { sessionQuery, turnsQuery } from "@/api/queries";
import type { Message, SessionDetail, Turn } from "@/api/types";
import { useTeam } from "@/state/use-me";
import { useTitle } from "@/features/shell/use-title";
import { baseName } from "@/lib/names";
import { SHARED } from "@/lib/routes";
import { createStore } from "@/lib/store";
import { useStore } from "@/state/binding";
import type { Place } from "@/state/find";
import { open } from "@/state/flow/folds";
import { callKey } from "@/state/flow/rows";
import type { Row } from "@/state/flow/rows";
import { sidechain } from "@/state/settings";
import { askerOf } from "@/state/sharing";
import type { Shown } from "@/state/sidechain";
import { useMedia } from "@/state/use-media";

import type { Landing } from "./context";
import { useConversationKeys } from "./conversation-keys";
import type { FlowHandle } from "./flow-view";
import { useNews } from "./follow";
import { useCopy } from "./use-copy";
import { useFinding } from "./use-finding";
import type { Finding } from "./use-finding";
import { useFlow } from "./use-flow";
import { useLanding } from "./use-landing";
import { useStart } from "./use-start";
import { useHashLink, useRetry, useTarget } from "./use-target";

export interface PageProps {
  readonly session: string;
  /** The uuid of the message that the address names. */
  readonly message: string | null;
  /** The sub-agent that is shown alone. */
  readonly agent?: string | null;
}

const NO_TURNS: readonly Turn[] = [];

export function usePage({ session, message, agent = null }: PageProps) {
  const detail = useQuery(sessionQuery(session));
  const turns = useQuery(turnsQuery(session)).data?.items ?? NO_TURNS;
  const handle = useRef<FlowHandle>(null);
  const stores = useStores();
  const [said, announce] = useState("");
  const [raw, setRaw] = useState<Message | null>(null);
  const [exporting, setExporting] = useState(false);
  const [sharing, setSharing] = useState<"share" | "delete" | null>(null);
  const me = useTeam();
  const team = me !== null;
  const asker = SHARED ? "Person" : askerOf(me, detail.data?.session.person);
  const finding = useFinding();
  const panels = usePanels();
  const conversation = useFlow(session, agent, turns);
  const { flow, folds, runs, state, rows, ways, setChoices, setAsked, choose, agents } = conversation;
  const target = useTarget({
    flow,
    rows,
    runs,
    handle,
    onFound: (found, call) => {
      setAsked(found.index);
      if (ways && !ways.isShown(found.branch)) setChoices(ways.leadTo(found.branch));
      if (call !== null) open(folds, callKey({ source: found.source, index: call }));
    },
  });
  const { goTo } = target;
  const land = useLanding({ session, folds, landing: stores.landing, goTo });
  const start = useStart({ message, goTo, land, handle, flow });
  useRetry(flow, start);
  useHashLink(session);
  useTitle(detail.data?.session.title, detail.data?.session.project && baseName(detail.data.session.project));
  useBodyClass("page-conv");
  const { copy, copyTurn } = useCopy(session, announce);
  const back = useBack(finding, panels);
  useConversationKeys({
    ...{ session, turns, handle, rows, folds, runs, copy, copyTurn, choose },
    ...{ passed: stores.passed, current: target.current, setCurrent: target.setCurrent, goTo },
    showRaw: setRaw,
    onExport: useCallback(() => {
      setExporting(true);
    }, []),
    onShare: useCallback(() => {
      if (team) setSharing("share");
    }, [team]),
    mayShare: team,
    onFind: finding.open,
    onSidechain: panels.toggleSidechain,
    onFailed: useFailed(stores.shown, panels.showSidechain),
    onBack: back,
  });
  const context = useMemo(
    () => ({
      ...{ session, folds, runs, announce, agents, landing: stores.landing, choose, copyTurn, asker },
      showRaw: setRaw,
      bring: (element: HTMLElement) => handle.current?.bring(element),
      showOperations: panels.showOperations,
    }),
    [session, folds, runs, agents, stores, choose, copyTurn, asker, panels.showOperations],
  );
  const goToPlace = (place: Place) => {
    void land(place.message, place).then(() => {
      const found = place.thinking && place.source === null ? flow.find(place.message) : null;
      if (found) open(folds, ...thoughtsOf(found));
    });
  };
  const following = useStore(stores.following);
  const news = useNews(state.total, state.status === "open", following);
  return {
    ...{ session, agent, detail, turns, handle, stores, panels, conversation, target, context },
    ...{
      said,
      announce,
      raw,
      setRaw,
      exporting,
      setExporting,
      sharing,
      setSharing,
      finding,
      goToPlace,
      start,
      following,
      news,
    },
    live: isLive(detail.data) || news > 0,
    star: useStarOf(detail.data),
  };
}

export type PageState = ReturnType<typeof usePage>;

/** Outside of React: they change with every row that is passed, and only few parts look at them. */
function useStores() {
  return useState(() => ({
    passed: createStore<Row | null>(null),
    following: createStore(false),
    landing: createStore<Landing | null>(null),
    shown: createStore<Shown>("all"),
  }))[0];
}

/** Narrower than this the sidechain is a drawer; see sidechain.css. */
const WIDE = "(min-width: 1241px)";

/** What stands beside the flow: always, or drawn over it where there is no room. */
function usePanels() {
  const [drawn, setDrawn] = useState<"turns" | "sidechain" | null>(null);
  /** The message that somebody asked to see the operations of, and the one whose operations are pointed at. */
  const [asked, setAsked] = useState<number | null>(null);
  const [lit, setLit] = useState<number | null>(null);
  const beside = useStore(sidechain) === "shown";
  /** Whether it is seen; where it is a drawer, only while it is drawn. */
  const besideSeen = useMedia(WIDE) ? beside : drawn === "sidechain";
  const showSidechain = useCallback((now: boolean) => {
    if (window.matchMedia(WIDE).matches) sidechain.set(now ? "shown" : "hidden");
    else setDrawn(now ? "sidechain" : null);
  }, []);
  const toggleSidechain = useCallback(() => {
    if (window.matchMedia(WIDE).matches) sidechain.set(sidechain.get() === "shown" ? "hidden" : "shown");
    else setDrawn((now) => (now === "sidechain" ? null : "sidechain"));
  }, []);
  const showOperations = useCallback(
    (message: number) => {
      setAsked(message);
      showSidechain(true);
    },
    [showSidechain],
  );
  const toggleTurns = useCallback(() => {
    setDrawn((now) => (now === "turns" ? null : "turns"));
  }, []);
  return {
    ...{ drawn, setDrawn, asked, setAsked, lit, setLit, beside, besideSeen },
    ...{ showSidechain, toggleSidechain, showOperations, toggleTurns },
  };
}

type Panels = ReturnType<typeof usePanels>;

/** One step back: what was opened last is closed first. */
function useBack({ text, close }: Finding, { drawn, setDrawn }: Panels): () => void {
  const [, navigate] = useLocation();
  return useCallback(() => {
    if (text !== null) close();
    else if (drawn) setDrawn(null);
    else if (!SHARED) navigate("/sessions");
  }, [text, close, drawn, setDrawn, navigate]);
}

function useFailed(
  shown: { readonly set: (next: (now: Shown) => Shown) => void },
  show: (now: boolean) => void,
) {
  return useCallback(() => {
    shown.set((now) => (now === "failed" ? "all" : "failed"));
    show(true);
  }, [shown, show]);
}

function useBodyClass(name: string): void {
  useEffect(() => {
    document.body.classList.add(name);
    return () => {
      document.body.classList.remove(name);
    };
  }, [name]);
}

function isLive(detail: SessionDetail | undefined): boolean {
  const state = detail?.session.state;
  return state === "working" || state === "needs_you";
}

/** The folds of what a message thought. */
function thoughtsOf(message: Message): readonly string[] {
  return message.blocks.flatMap((block, part) =>
    block.kind === "thinking" ? [`${message.index}-${part}`] : [],
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
