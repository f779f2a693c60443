/** One row of the log: a turn, or an action. */

import { memo } from "react";
import { Link } from "wouter";

import type { Action } from "@/api/actions";
import { Since } from "@/features/mission-control/since";
import { CATEGORIES } from "@/lib/action-filter";
import { formatCounted, formatDuration, formatExactClock, formatMoment } from "@/lib/format";
import { toolName } from "@/lib/names";
import { sessionPath } from "@/lib/routes";
import { logPart } from "@/lib/strip";
import { showControls } from "@/lib/visible";
import type { TurnRow } from "@/state/actions/rows";
import { useClock } from "@/state/use-clock";
import { Icon } from "@/ui/icons";
import { categoryClass, categoryIcon } from "@/ui/tools";

/** From a millisecond to a minute. */
const SHORTEST = 1;
const LONGEST = 60_000;

interface ActionLineProps {
  readonly session: string;
  readonly action: Action;
  readonly current: boolean;
}

export const ActionLine = memo(function ActionLine({ session, action, current }: ActionLineProps) {
  const { name, server } = toolName(action.name);
  const title = showControls(action.title);
  return (
    <div
      className={`al-row is-${action.state}`}
      role="row"
      aria-current={current || undefined}
      data-action={action.index}
    >
      <span role="cell" className="tm" title={formatMoment(action.at)}>
        {formatExactClock(action.at)}
      </span>
      <span role="cell" className={`ca ${categoryClass(action.category)}`}>
        <Icon name={categoryIcon(action.category)} />
        <span>{CATEGORIES[action.category]}</span>
      </span>
      <span role="cell" className="na clip">
        <ActionLink session={session} action={action} name={showControls(name)} />
      </span>
      <span role="cell" className={isCode(action) ? "ar0 mono clip" : "ar0 clip"} title={title}>
        {server !== null && <span className="quiet">{showControls(server)}: </span>}
        {title}
      </span>
      <Outcome action={action} />
      <span role="cell" className="num du">
        {action.duration_ms !== null ? (
          formatTook(action.duration_ms)
        ) : action.state === "running" && action.at !== null ? (
          <Since time={action.at} />
        ) : null}
      </span>
      <span role="cell" className="ba" aria-hidden="true">
        {action.duration_ms !== null && <i style={{ width: `${widthOf(action.duration_ms)}%` }} />}
        {action.duration_ms === null && action.state === "running" && action.at !== null && (
          <Growing since={Date.parse(action.at)} />
        )}
      </span>
    </div>
  );
});

function widthOf(ms: number): number {
  return Math.max(2, Math.round(logPart(ms, SHORTEST, LONGEST) * 100));
}

/** The bar of what is under way. */
function Growing({ since }: { readonly since: number }) {
  const width = useClock((now) => widthOf(now - since));
  return <i className="live" style={{ width: `${width}%` }} />;
}

const PROSE = new Set(["AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "TodoWrite"]);
const CODE = new Set(["builtin", "mcp", "skill", "hook", "hook_progress", "snapshot"]);

/** Whether what it is about was written for a machine. */
function isCode(action: Action): boolean {
  return CODE.has(action.category) && !PROSE.has(action.name);
}

/** The link is as wide as the row; where no message tells of the action, there is nothing to open. */
function ActionLink({
  session,
  action,
  name,
}: {
  readonly session: string;
  readonly action: Action;
  readonly name: string;
}) {
  const { message_uuid, source, call } = action;
  if (message_uuid === null) return <span tabIndex={-1}>{name}</span>;
  // The transcript's own source is the session's key: only files of sub-agents have to be named.
  const place = { source: source === session ? null : source, call };
  return <Link href={sessionPath(session, message_uuid, place)}>{name}</Link>;
}

const MARKS: Readonly<Partial<Record<Action["state"], string>>> = { running: "work", waiting: "wait" };
const SAID: Readonly<Partial<Record<Action["state"], string>>> = {
  failed: "failed",
  running: "running",
  waiting: "waits for you",
  rejected: "turned down",
  unresolved: "no result in the file",
};

function Outcome({ action }: { readonly action: Action }) {
  const { state } = action;
  const text = action.outcome === "" ? (SAID[state] ?? "") : showControls(action.outcome);
  const mark = MARKS[state];
  return (
    <span role="cell" className={`ou ${state === "failed" ? "fail" : ""}`} title={text}>
      {state === "failed" && <Icon name="error" className="i-s" />}
      {mark !== undefined && <span className={`st st-${mark}`} aria-hidden="true" />}
      <span className="clip">{text}</span>
    </span>
  );
}

/** `38 ms`: what is short is told as it is. */
function formatTook(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : formatDuration(ms);
}

export function TurnLine({ row }: { readonly row: TurnRow }) {
  const { turn, number, actions, failed } = row;
  const sums = [
    ...(turn?.duration_ms == null ? [] : [formatDuration(turn.duration_ms)]),
    ...(actions === null ? [] : [formatCounted(actions, "action")]),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ];
  return (
    <div className="al-turn" role="row">
      <span role="rowheader" className="clip">
        <b>{number === null ? "Before the first prompt" : `Turn ${number}`}</b>
        {turn !== null && showControls(turn.title)}
      </span>
      <span role="cell" className="meta">
        {sums.join(" · ")}
      </span>
    </div>
  );
}
