/** The cover: what the session is, how it stands, and how to go on with it. */

import { Link } from "wouter";

import type { SessionDetail } from "@/api/types";
import { formatClock, formatCounted, formatDate, formatMoney, formatSpan } from "@/lib/format";
import { baseName, modelName } from "@/lib/names";
import { NO_FILTER, sessionsPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { IconButton } from "@/ui/controls";
import { Icon } from "@/ui/icons";

import { useConversation } from "./context";
import { copyText } from "./tools";

const STATES = {
  needs_you: ["wait", "Needs you"],
  working: ["work", "Working"],
  done: ["done", "Done"],
  stopped: ["fail", "Stopped"],
  idle: ["idle", "Idle"],
} as const;

interface CoverProps {
  readonly detail: SessionDetail;
  readonly onStar: () => void;
  readonly onExport: () => void;
}

export function Cover({ detail, onStar, onExport }: CoverProps) {
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
            {showControls(baseName(session.project))}
          </Link>
        )}
        {session.git_branch !== null && (
          <>
            <Icon name="branch" />
            <span className="clip">{showControls(session.git_branch)}</span>
          </>
        )}
        <span className="grow" />
        <IconButton icon="dl" label="Export…" aria-keyshortcuts="x" onClick={onExport} />
        <IconButton
          icon="star"
          className="star"
          label={marks.starred ? "Take the star away" : "Star"}
          aria-pressed={marks.starred}
          onClick={onStar}
        />
      </div>
      <h1>{showControls(session.title ?? session.first_prompt ?? session.session_id)}</h1>
      <Now detail={detail} />
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
              {showControls(tag)}
            </span>
          ))}
        </p>
      )}
      {detail.resume !== null && <Resume command={detail.resume} />}
    </div>
  );
}

function Now({ detail }: { readonly detail: SessionDetail }) {
  const { state } = detail.session;
  if (state == null) return null;
  const [mark, name] = STATES[state];
  return (
    <p className={`now now-${mark}`}>
      <span className={`st st-${mark}`} aria-hidden="true" />
      <b>{name}</b>
    </p>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{showControls(value)}</dd>
    </>
  );
}

/** The command that goes on with it; it may hold a path of anybody's choosing, so it is shown before it is copied. */
function Resume({ command }: { readonly command: string }) {
  const { announce } = useConversation();
  return (
    <div className="resume">
      <code title={showControls(command)}>{showControls(command)}</code>
      <IconButton
        icon="copy"
        label="Copy the command that resumes it"
        onClick={() => {
          void copyText(command).then((done) => {
            announce(done ? "Command copied" : "The browser did not allow copying");
          });
        }}
      />
    </div>
  );
}
