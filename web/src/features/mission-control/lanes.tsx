/** The last three hours: who worked, and who waited for whom. */

import { useMemo } from "react";
import { Link } from "wouter";

import type { Board, BoardCard } from "@/api/board";
import { formatClock, formatCounted, formatDuration } from "@/lib/format";
import { endPath } from "@/lib/routes";
import { endOf, isReadable, sinceOf, startOf } from "@/state/board";
import { buildLanes, laneTicks } from "@/state/lanes";
import type { Lane, LaneBar } from "@/state/lanes";
import { useClock } from "@/state/use-clock";

import { Since } from "./since";

/** How often the lines move on. */
const STEP_MS = 15_000;

interface LanesProps {
  readonly board: Board;
  /** The cards whose lines are drawn; null: all lines. */
  readonly shown: readonly BoardCard[] | null;
}

export function Lanes({ board, shown }: LanesProps) {
  const now = useClock((time) => Math.ceil(time / STEP_MS) * STEP_MS);
  const { lanes, left_out } = useMemo(() => {
    const ids = shown && new Set(shown.map((card) => card.session_id));
    const spans = ids ? board.spans.filter((span) => ids.has(span.session_id)) : board.spans;
    return buildLanes({ ...board, spans }, now);
  }, [board, shown, now]);
  if (lanes.length === 0) return null;
  return (
    <section className="lanes" aria-labelledby="lanes-title">
      <header>
        <h2 id="lanes-title">The last three hours</h2>
        {board.waited_ms >= 1000 && (
          <span className="meta">
            sessions have waited for you {formatDuration(board.waited_ms)} in total today
          </span>
        )}
        <span className="grow" />
        <span className="meta lg">
          <i />
          working
        </span>
        <span className="meta lg">
          <i className="w" />
          waiting for you
        </span>
      </header>
      <ul>
        {lanes.map((lane) => (
          <LaneRow key={lane.session} lane={lane} />
        ))}
      </ul>
      <div className="axis micro" aria-hidden="true">
        <span />
        <div>
          {laneTicks(now).map((tick) => (
            <span key={tick}>{formatClock(new Date(tick).toISOString())}</span>
          ))}
          <span>now</span>
        </div>
        <span />
      </div>
      {left_out > 0 && <p className="micro">and {formatCounted(left_out, "session")} more</p>}
    </section>
  );
}

function LaneRow({ lane }: { readonly lane: Lane }) {
  const { card } = lane;
  const name = (
    <>
      {lane.project} {lane.branch !== null && <span className="quiet">{lane.branch}</span>}
    </>
  );
  return (
    <li className="lane">
      {card === null || !isReadable(card) ? (
        <span className="clip">{name}</span>
      ) : (
        <Link className="clip" href={endPath(card.key)}>
          {name}
        </Link>
      )}
      <div className={card === null || card.column === "done" ? "track past" : "track"} aria-hidden="true">
        {lane.bars.map((bar, at) => (
          <i
            key={at}
            className={classOf(bar)}
            style={{ left: `${bar.left}%`, width: `max(2px, ${bar.width}%)` }}
          />
        ))}
      </div>
      <Now lane={lane} />
    </li>
  );
}

function classOf({ kind }: LaneBar): string | undefined {
  if (kind === "waiting") return "w";
  return kind === "done" ? "d" : undefined;
}

function Now({ lane: { card } }: { readonly lane: Lane }) {
  if (card === null) return <span className="meta" />;
  switch (card.column) {
    case "needs_you":
      return (
        <span className="meta wait">
          <Since time={sinceOf(card)} before="waits " />
        </span>
      );
    case "working":
      return (
        <span className="meta">
          <Since time={startOf(card)} before="works " coarse />
        </span>
      );
    case "done":
      return (
        <span className="meta">
          <Since time={endOf(card)} before="done " ago />
        </span>
      );
  }
}
