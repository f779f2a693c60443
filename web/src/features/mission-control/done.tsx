/** A session that is done, in two lines. */

import { memo } from "react";
import { Link } from "wouter";

import type { BoardCard } from "@/api/board";
import { formatMoney, formatSpan } from "@/lib/format";
import { baseName } from "@/lib/names";
import { endPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { endOf, isReadable, titleOf } from "@/state/board";
import { personName } from "@/state/sharing";

import { Since } from "./since";

interface DoneProps {
  readonly card: BoardCard;
  readonly current: boolean;
  /** Whether its project is not said above it already. */
  readonly project: boolean;
  /** Whether it says whose it is. */
  readonly team: boolean;
}

export const Done = memo(function Done({ card, current, project, team }: DoneProps) {
  const title = showControls(titleOf(card));
  return (
    <article className={current ? "fin at" : "fin"} aria-label={title} data-card={card.session_id}>
      <span className={`st st-${card.stopped_by === null ? "done" : "fail"}`} aria-hidden="true" />
      <h3 className="clip">
        {isReadable(card) ? (
          <Link href={endPath(card.key)} title={title}>
            {title}
          </Link>
        ) : (
          <span tabIndex={-1}>{title}</span>
        )}
      </h3>
      <span className="meta t">
        <Since time={endOf(card)} ago />
      </span>
      <p className="meta dot-sep clip">
        {team && <span>{showControls(personName(card.person))}</span>}
        {project && card.project !== null && <span>{baseName(card.project)}</span>}
        {card.stopped_by !== null && <span className="fail">stopped: {showControls(card.stopped_by)}</span>}
        {card.stopped_by === null && lasted(card) !== null && <span>{formatSpan(lasted(card))}</span>}
        {card.stopped_by === null && card.cost_usd !== null && <span>{formatMoney(card.cost_usd)}</span>}
      </p>
    </article>
  );
});

function lasted(card: BoardCard): number | null {
  if (card.started_at === null || card.last_at === null) return null;
  return Date.parse(card.last_at) - Date.parse(card.started_at);
}
