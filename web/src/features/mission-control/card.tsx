/** A session that lives: why it waits or what it does, since when, and how far it has come. */

import { memo } from "react";
import { Link } from "wouter";

import type { BoardCard } from "@/api/board";
import { formatCounted, formatMoney } from "@/lib/format";
import { baseName, modelName, toolName } from "@/lib/names";
import { endPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { asksForCode, describeWhy, isReadable, machineOf, sinceOf, titleOf } from "@/state/board";
import { personName } from "@/state/sharing";
import { Gauge } from "@/ui/gauge";
import { Icon } from "@/ui/icons";
import type { IconName } from "@/ui/icons";
import { Strip } from "@/ui/strip";
import { toolIcon } from "@/ui/tools";

import { Since } from "./since";

interface CardProps {
  readonly card: BoardCard;
  readonly current: boolean;
  /** Whether cards of all states stand together, so that each shows its own. */
  readonly mixed: boolean;
  /** Whether its project is not said above it already. */
  readonly project: boolean;
  /** Whether it says whose it is. */
  readonly team: boolean;
}

export const Card = memo(function Card({ card, current, mixed, project, team }: CardProps) {
  const waits = card.column === "needs_you";
  const title = showControls(titleOf(card));
  return (
    <article className={current ? "card at" : "card"} aria-label={title} data-card={card.session_id}>
      {team && <Owner card={card} />}
      <div className="w">
        {mixed && <span className={`st st-${waits ? "wait" : "work"}`} aria-hidden="true" />}
        {project && card.project !== null && (
          <span className="clip" title={card.project}>
            {baseName(card.project)}
          </span>
        )}
        {card.git_branch !== null && <span className="clip branch">{showControls(card.git_branch)}</span>}
        {card.model !== null && <span className="r">{modelName(card.model)}</span>}
      </div>
      <h3>
        <CardTitle card={card} title={title} />
      </h3>
      {waits ? <Asked card={card} /> : <Doing card={card} />}
      {waits && <Strip bars={card.call_bars} last="wait" />}
      <div className="foot">
        <span className="dot-sep">
          {card.started_at !== null && (
            <span>
              <Since time={card.started_at} coarse />
            </span>
          )}
          {card.turns > 0 && <span>{formatCounted(card.turns, "turn")}</span>}
          {!isReadable(card) && <span>its file is not archived yet</span>}
          {card.cost_usd !== null && <span>{formatMoney(card.cost_usd)}</span>}
          {card.process === "gone" && <span className="fail">its process has ended</span>}
        </span>
        <Gauge tokens={card.context_tokens} limit={card.context_limit} compactsAt={card.compacts_at} />
      </div>
    </article>
  );
});

/** Whose it is, and where it runs. */
function Owner({ card }: { readonly card: BoardCard }) {
  return (
    <p className="meta own dot-sep">
      <b>{showControls(personName(card.person))}</b>
      <span className="clip" title={card.machine}>
        {showControls(machineOf(card))}
      </span>
    </p>
  );
}

/** Opens it at the point it waits; keys choose it also while there is nothing to open. */
function CardTitle({ card, title }: { readonly card: BoardCard; readonly title: string }) {
  return isReadable(card) ? (
    <Link className="clip" href={endPath(card.key)} title={title}>
      {title}
    </Link>
  ) : (
    <span className="clip" tabIndex={-1} title={title}>
      {title}
    </span>
  );
}

const WHY_ICONS: Readonly<Record<string, IconName>> = {
  question: "ask",
  plan: "plan",
  failed: "error",
  idle: "pause",
};

function Asked({ card }: { readonly card: BoardCard }) {
  const tool = card.step?.tool_name ?? null;
  const icon =
    card.why === "permission" && tool !== null
      ? toolIcon(tool, tool.startsWith("mcp__") ? "mcp" : "builtin")
      : (WHY_ICONS[card.why ?? ""] ?? "pause");
  const detail = card.detail === null ? "" : showControls(card.detail).trim();
  const server = tool === null ? null : toolName(tool);
  return (
    <div className="why">
      <div className="l">
        <Icon name={icon} />
        <span className="clip">{describeWhy(card)}</span>
        <Since time={sinceOf(card)} before="waits " />
      </div>
      {asksForCode(card) && server?.server != null && (
        <p className="clip">
          {server.name} <span className="quiet">of {server.server}</span>
        </p>
      )}
      {detail !== "" &&
        (asksForCode(card) ? <code className="cut">{detail}</code> : <p className="cut">{detail}</p>)}
      {card.options.length > 0 && (
        <div className="opts">
          {card.options.map((option, at) => (
            <span key={at}>{showControls(option)}</span>
          ))}
        </div>
      )}
    </div>
  );
}

function Doing({ card }: { readonly card: BoardCard }) {
  const { step, agents } = card;
  const since = step?.since ?? agents[0]?.since ?? sinceOf(card);
  return (
    <>
      <div className="step">
        <span className="st st-work" aria-hidden="true" />
        {agents.length > 0 ? (
          <>
            <b>{formatCounted(agents.length, "agent")}</b>
            <span className="clip">at work</span>
          </>
        ) : step !== null ? (
          <>
            <b>{toolName(step.tool_name).name}</b>
            <code className="clip">{showControls(step.title)}</code>
          </>
        ) : (
          <>
            <b>Writing</b>
            <span className="clip">an answer</span>
          </>
        )}
        <Since time={since} />
      </div>
      {agents.map((agent) => (
        <div key={agent.id} className="step sub">
          <span className="c-agent">
            <Icon name="agent" />
          </span>
          <b className="clip">{agent.type === null ? "Agent" : showControls(agent.type)}</b>
          <span className="clip">{agent.title === null ? "" : showControls(agent.title)}</span>
          <Since time={agent.since} />
        </div>
      ))}
    </>
  );
}
