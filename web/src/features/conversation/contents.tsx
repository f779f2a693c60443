/** The cover and the contents: what the session is, and its turns. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Link } from "wouter";

import type { SessionDetail, Turn } from "@/api/types";
import {
  formatClock,
  formatCount,
  formatCounted,
  formatDate,
  formatDuration,
  formatMoney,
  formatSpan,
} from "@/lib/format";
import { baseName, modelName } from "@/lib/names";
import type { Store } from "@/lib/store";
import { usePart } from "@/state/binding";
import { turnOf } from "@/state/flow/rows";
import type { Row } from "@/state/flow/rows";
import { NO_FILTER, sessionPath, sessionsPath } from "@/lib/routes";
import { Icon } from "@/ui/icons";
import { IconButton } from "@/ui/controls";

interface ContentsProps {
  readonly detail: SessionDetail;
  readonly turns: readonly Turn[];
  readonly session: string;
  readonly passed: Store<Row | null>;
  readonly drawn: boolean;
  readonly onStar: () => void;
  readonly onChoose: () => void;
}

export function Contents(props: ContentsProps) {
  const { detail, turns, drawn } = props;
  const scroller = useRef<HTMLElement>(null);
  return (
    <aside ref={scroller} className={drawn ? "side left drawn" : "side left"} aria-label="Session and turns">
      <Cover detail={detail} turns={turns.length} onStar={props.onStar} />
      <Turns {...props} scroller={scroller} />
    </aside>
  );
}

function Cover({
  detail,
  turns,
  onStar,
}: {
  readonly detail: SessionDetail;
  readonly turns: number;
  readonly onStar: () => void;
}) {
  const { session } = detail;
  const { marks } = session;
  return (
    <div className="cover">
      <div className="where">
        {session.project !== null && (
          <Link
            className="clip"
            href={sessionsPath({ ...NO_FILTER, project: session.project })}
            title={session.project}
          >
            {baseName(session.project)}
          </Link>
        )}
        {session.git_branch !== null && (
          <>
            <Icon name="branch" />
            <span className="clip">{session.git_branch}</span>
          </>
        )}
        <span className="grow" />
        <IconButton
          icon="star"
          className="star"
          label={marks.starred ? "Take the star away" : "Star"}
          aria-pressed={marks.starred}
          onClick={onStar}
        />
      </div>
      <h1>{session.title ?? session.first_prompt ?? session.session_id}</h1>
      <dl className="facts">
        {session.models.length > 0 && <Fact name="Model" value={session.models.map(modelName).join(", ")} />}
        {session.created_at !== null && (
          <Fact
            name="Time"
            value={`${formatDate(session.created_at)}, ${formatClock(session.created_at)}, ${formatSpan(session.duration_ms)}`}
          />
        )}
        <Fact
          name="Size"
          value={`${formatCounted(detail.messages, "message")}, ${formatCounted(session.calls, "call")}`}
        />
        <Fact
          name="Cost"
          value={session.cost_usd === null ? "no price is known" : formatMoney(session.cost_usd)}
        />
        {session.only_here && <Fact name="File" value="deleted by Claude Code, kept here" />}
      </dl>
      {marks.tags.length > 0 && (
        <p className="tags">
          {marks.tags.map((tag) => (
            <span key={tag} className="tag">
              {tag}
            </span>
          ))}
        </p>
      )}
      <h2 className="toc-title">
        Turns <span>{formatCount(turns)}</span>
      </h2>
    </div>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

const TURN_HEIGHT = 70;

/** A long session has thousands of turns: these, too, are in the document only where one looks. */
function Turns({
  turns,
  session,
  passed,
  onChoose,
  scroller,
}: ContentsProps & { readonly scroller: React.RefObject<HTMLElement | null> }) {
  const currentTurn = usePart(passed, turnOf);
  const list = useRef<HTMLElement>(null);
  const margin = useRef(0);
  useEffect(() => {
    margin.current = list.current?.offsetTop ?? 0;
  });
  // eslint-disable-next-line react-hooks/incompatible-library -- rows are memoised by themselves
  const virtual = useVirtualizer<HTMLElement, HTMLDivElement>({
    count: turns.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => TURN_HEIGHT,
    scrollMargin: margin.current,
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
                <span className="clip2">{turn.title}</span>
                <span className="row">
                  <span className="meta">{turn.calls > 0 && formatCounted(turn.calls, "call")}</span>
                  <span className="meta">{turn.duration_ms !== null && formatDuration(turn.duration_ms)}</span>
                </span>
              </span>
            </Link>
          </div>
        );
      })}
    </nav>
  );
}
