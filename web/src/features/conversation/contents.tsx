/** The cover and the contents: what the session is, its turns, and its sub-agents. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";

import type { Agent, SessionDetail, Turn } from "@/api/types";
import { formatCount, formatCounted, formatDuration } from "@/lib/format";
import { plainTitle } from "@/lib/plain";
import { agentPath, sessionPath } from "@/lib/routes";
import type { Store } from "@/lib/store";
import { showControls } from "@/lib/visible";
import { usePart } from "@/state/binding";
import { turnOf } from "@/state/flow/rows";
import type { Row } from "@/state/flow/rows";
import { Icon } from "@/ui/icons";
import { Strip } from "@/ui/strip";

import { Cover } from "./cover";

interface ContentsProps {
  readonly detail: SessionDetail;
  readonly turns: readonly Turn[];
  readonly agents: readonly Agent[];
  readonly session: string;
  readonly passed: Store<Row | null>;
  readonly drawn: boolean;
  readonly onStar: () => void;
  readonly onExport: () => void;
  readonly onShare: () => void;
  readonly onChoose: () => void;
}

type Tab = "turns" | "agents";

export function Contents(props: ContentsProps) {
  const { detail, turns, agents, drawn } = props;
  const [tab, setTab] = useState<Tab>("turns");
  const scroller = useRef<HTMLElement>(null);
  const choices = [
    ["turns", "Turns", turns.length],
    ["agents", "Agents", agents.length],
  ] as const;
  return (
    <aside ref={scroller} className={drawn ? "side left drawn" : "side left"} aria-label="Session and turns">
      <Cover detail={detail} onStar={props.onStar} onExport={props.onExport} onShare={props.onShare} />
      <div className="toc-tabs">
        <div className="tabs" role="tablist" aria-label="Contents">
          {choices
            .filter(([name, , count]) => name === "turns" || count > 0)
            .map(([name, label, count]) => (
              <button
                key={name}
                type="button"
                role="tab"
                aria-selected={tab === name}
                onClick={() => {
                  setTab(name);
                }}
              >
                {label}
                <span>{formatCount(count)}</span>
              </button>
            ))}
        </div>
      </div>
      {tab === "turns" ? <Turns {...props} scroller={scroller} /> : <AgentList {...props} />}
    </aside>
  );
}

function AgentList({ agents, session, onChoose }: ContentsProps) {
  return (
    <nav className="toc agents" aria-label="Agents">
      {agents.map((agent) => (
        <Link key={agent.id} href={agentPath(session, agent.id)} onClick={onChoose}>
          <span className="c-agent">
            <Icon name="agent" className="i-s" />
          </span>
          <span>
            <span className="clip2">{showControls(plainTitle(agent.description ?? agent.id))}</span>
            <span className="meta dot-sep">
              <span>{showControls(agent.type ?? "sub-agent")}</span>
              {agent.depth > 1 && <span>level {agent.depth}</span>}
              <span>{agent.state}</span>
            </span>
          </span>
        </Link>
      ))}
    </nav>
  );
}

const TURN_HEIGHT = 70;

/** A long session has thousands of turns: these, too, are in the document only where one looks. */
function Turns({
  detail,
  turns,
  session,
  passed,
  onChoose,
  scroller,
}: ContentsProps & { readonly scroller: React.RefObject<HTMLElement | null> }) {
  // It follows what is read, but never at its expense.
  const currentTurn = useDeferredValue(usePart(passed, turnOf));
  const list = useRef<HTMLElement>(null);
  // Only with what stands above: to measure it with every turn that is passed would cost a layout each time.
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    setMargin(list.current?.offsetTop ?? 0);
  }, [detail]);
  // eslint-disable-next-line react-hooks/incompatible-library -- rows are memoised by themselves
  const virtual = useVirtualizer<HTMLElement, HTMLDivElement>({
    count: turns.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => TURN_HEIGHT,
    scrollMargin: margin,
    scrollPaddingStart: 48,
    scrollPaddingEnd: 96,
    overscan: 8,
  });
  useEffect(() => {
    if (currentTurn !== null) virtual.scrollToIndex(currentTurn, { align: "auto" });
  }, [currentTurn, virtual]);
  return (
    <nav ref={list} className="toc" aria-label="Turns" style={{ height: virtual.getTotalSize() + 8 }}>
      {virtual.getVirtualItems().map((item) => {
        const turn = turns[item.index];
        if (!turn) return null;
        return (
          <div
            key={item.key}
            ref={virtual.measureElement}
            data-index={item.index}
            style={{ transform: `translateY(${item.start - virtual.options.scrollMargin}px)` }}
          >
            <Link
              href={sessionPath(session, turn.prompt_uuid)}
              aria-current={turn.index === currentTurn ? "true" : undefined}
              onClick={onChoose}
            >
              <span className="no">{turn.index + 1}</span>
              <span>
                <span className="clip2">{showControls(plainTitle(turn.title))}</span>
                <span className="row">
                  <Strip bars={turn.call_bars} />
                  <span className="sr">
                    {formatCounted(turn.calls, "call")}
                    {turn.failed > 0 && `, ${turn.failed} failed`}
                  </span>
                  <span className="meta">{turn.duration_ms !== null && formatDuration(turn.duration_ms)}</span>
                </span>
                {turn.edited && (
                  <span className="forked">
                    <Icon name="branch" className="i-s" /> edited prompt
                  </span>
                )}
              </span>
            </Link>
          </div>
        );
      })}
    </nav>
  );
}
