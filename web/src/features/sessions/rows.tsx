/** One row of the list: a day, or a session. */

import { memo } from "react";
import { Link } from "wouter";

import type { SessionItem } from "@/api/types";
import {
  formatClock,
  formatCount,
  formatCounted,
  formatDate,
  formatMoment,
  formatMoney,
  formatSpan,
} from "@/lib/format";
import { baseName, modelName } from "@/lib/names";
import { sessionPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import type { ListRow } from "@/state/session-rows";
import { describeVisibility, personName } from "@/state/sharing";
import { IconButton } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { StateMark, stateName } from "@/ui/state-mark";
import type { StateName } from "@/ui/state-mark";

interface SessionRowProps {
  readonly session: SessionItem;
  readonly current: boolean;
  readonly selected: boolean;
  /** Whether days stand between the rows, so that a time of day is enough. */
  readonly byDay: boolean;
  /** Whether it is one of the others of a group, under the first. */
  readonly member: boolean;
  /** Whether the others of its group are listed. */
  readonly open: boolean;
  readonly onToggleGroup: (session: SessionItem) => void;
  /** How machines are called; null where there is no team, and nobody asks whose it is. */
  readonly machineName: ((origin: string) => string) | null;
  /** Null for whoever may not mark it. */
  readonly onStar: ((session: SessionItem) => void) | null;
}

export const SessionRow = memo(function SessionRow(props: SessionRowProps) {
  const { session, current, selected, byDay, member, open, onToggleGroup, machineName, onStar } = props;
  const { marks } = session;
  const title = session.title ?? session.first_prompt ?? session.session_id;
  return (
    <div
      className={["s-row", selected && "picked", member && "member"].filter(Boolean).join(" ")}
      role="row"
      aria-current={current || undefined}
      aria-selected={selected || undefined}
    >
      <span className="pad" role="cell">
        {selected ? (
          <>
            <Icon name="check" />
            <span className="sr">Selected</span>
          </>
        ) : (
          <StateMark state={session.state ?? null} />
        )}
      </span>
      <div role="cell" className="t-cell">
        <Link className="t" href={sessionPath(session.key)} data-session={session.key}>
          <span className="ti">
            <b className="clip">
              <bdi>{showControls(title)}</bdi>
            </b>
            {marks.tags.map((tag) => (
              <bdi key={tag} className="tag">
                {showControls(tag)}
              </bdi>
            ))}
            {session.only_here && (
              <span className="tag" title="Claude Code has deleted its file; turnlog kept it.">
                only here
              </span>
            )}
          </span>
          <span className="fp">
            {machineName && <b className="by">{showControls(personName(session.person))}</b>}
            {session.state != null && TOLD[session.state] !== undefined && (
              <span className={TOLD[session.state]}>{stateName(session.state).toLowerCase()}</span>
            )}
            <bdi className="clip">
              {session.first_prompt === title ? "" : showControls(session.first_prompt ?? "")}
            </bdi>
          </span>
        </Link>
        {session.alike > 1 && (
          <button
            type="button"
            className="alike"
            aria-expanded={open}
            onClick={() => {
              onToggleGroup(session);
            }}
          >
            <Icon name={open ? "down" : "right"} />
            {formatCounted(session.alike, "session")} like this
          </button>
        )}
      </div>
      <span role="cell" className="star-cell">
        {onStar && (
          <IconButton
            icon="star"
            className="star"
            label={marks.starred ? "Remove the star" : "Star"}
            aria-pressed={marks.starred}
            onClick={() => {
              onStar(session);
            }}
          />
        )}
      </span>
      <span role="cell" className="p">
        <span className="clip" title={session.project ?? undefined}>
          {session.project === null ? "–" : baseName(session.project)}
        </span>
        <span className="meta clip">{session.git_branch}</span>
      </span>
      {machineName && (
        <span role="cell" className="w">
          <span className="clip">{showControls(personName(session.person))}</span>
          <span className="meta clip" title={session.machine}>
            {describeVisibility(session)}
            {session.machine !== "" && `, ${showControls(machineName(session.machine))}`}
          </span>
        </span>
      )}
      <span role="cell" className="m clip" title={session.models.join(", ")}>
        {session.models.map(modelName).at(-1)}
      </span>
      <span role="cell" className="num calls">
        {session.calls > 0 && formatCount(session.calls)}
      </span>
      <span role="cell" className="num messages">
        {formatCount(session.messages)}
      </span>
      <span role="cell" className="num agents">
        {session.agents > 0 && formatCount(session.agents)}
      </span>
      <span role="cell" className="num">
        {formatSpan(session.duration_ms)}
      </span>
      <span role="cell" className="num cost" title={session.cost_usd === null ? "Price unknown" : undefined}>
        {formatMoney(session.cost_usd)}
      </span>
      <span role="cell" className="num last" title={formatMoment(session.last_at)}>
        {byDay ? formatClock(session.last_at) : formatDate(session.last_at)}
      </span>
    </div>
  );
});

/** States that are said in words, too: those that are alive or broken. */
const TOLD: Readonly<Partial<Record<StateName, string>>> = {
  needs_you: "wait",
  working: "live",
  stopped: "fail",
};

export function DayRow({ row }: { readonly row: Extract<ListRow, { kind: "day" }> }) {
  const { day, sums } = row;
  return (
    <div className="s-day" role="row">
      <span className="name" role="rowheader">
        <b>{day.name}</b>
        <span>{day.detail}</span>
      </span>
      <span className="how-many" role="cell">
        {sums && formatCounted(sums.sessions, "session")}
      </span>
      <span className="num messages" role="cell">
        {sums && formatCount(sums.messages)}
      </span>
      <span className="num cost" role="cell">
        {sums?.cost != null && formatMoney(sums.cost)}
      </span>
    </div>
  );
}

interface MoreRowProps {
  readonly row: Extract<ListRow, { kind: "more" }>;
  readonly onMore: (group: string, failed: boolean) => void;
}

/** Where a group goes on that is not listed to its end. */
export function MoreRow({ row: { group, left, failed }, onMore }: MoreRowProps) {
  return (
    <div className="s-more" role="row">
      <span role="cell">
        {left === null && !failed ? (
          <span role="status">Loading…</span>
        ) : (
          <button
            type="button"
            className="alike"
            onClick={() => {
              onMore(group, failed);
            }}
          >
            {failed ? "They could not be listed. Try again" : `Show more (${formatCount(left ?? 0)} left)`}
          </button>
        )}
      </span>
    </div>
  );
}

const COLUMNS = [
  ["State", "pad"],
  ["Session", ""],
  ["Starred", "sr-col"],
  ["Project", ""],
  ["Person", "w"],
  ["Model", ""],
  ["Calls", "num calls"],
  ["Messages", "num"],
  ["Agents", "num agents"],
  ["Time", "num"],
  ["Cost", "num"],
  ["Last", "num"],
] as const;

const SORTED: Readonly<Record<string, string>> = {
  newest: "Last",
  oldest: "Last",
  cost: "Cost",
  messages: "Messages",
  duration: "Time",
};

export function Columns({ sort, team }: { readonly sort: string; readonly team: boolean }) {
  return (
    <div className="s-cols" role="row">
      {COLUMNS.filter(([name]) => team || name !== "Person").map(([name, kind]) => (
        <span key={name} role="columnheader" className={SORTED[sort] === name ? `${kind} now` : kind}>
          {kind === "sr-col" || kind === "pad" ? <span className="sr">{name}</span> : name}
        </span>
      ))}
    </div>
  );
}
