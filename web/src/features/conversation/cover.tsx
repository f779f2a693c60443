/** The cover: what the session is, how it stands, and how to go on with it. */

import { Link } from "wouter";

import type { SessionDetail } from "@/api/types";
import { copyText } from "@/lib/clipboard";
import { formatClock, formatCounted, formatDate, formatMoney, formatSpan } from "@/lib/format";
import { baseName, modelName } from "@/lib/names";
import { useMachineNames } from "@/features/sharing/use-machine-names";
import { useTeam } from "@/state/use-me";
import { NO_FILTER, sessionsPath, SHARED } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { describeVisibility, mayMark, personName } from "@/state/sharing";
import { IconButton } from "@/ui/controls";
import { Icon } from "@/ui/icons";

import { useConversation } from "./context";

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
  readonly onShare: () => void;
}

export function Cover({ detail, onStar, onExport, onShare }: CoverProps) {
  const { session } = detail;
  const team = useTeam();
  // A session goes on where it was begun, by whom it was begun.
  const resumable = !SHARED && (team === null || team.name === session.person);
  const { marks } = session;
  return (
    <div className="cover">
      <div className="where">
        {session.project !== null && <Project path={session.project} />}
        {session.git_branch !== null && (
          <>
            <Icon name="branch" />
            <span className="clip">{showControls(session.git_branch)}</span>
          </>
        )}
        <span className="grow" />
        {team && <IconButton icon="person" label="Share…" aria-keyshortcuts="S" onClick={onShare} />}
        {!SHARED && (
          <>
            <IconButton icon="dl" label="Export…" aria-keyshortcuts="x" onClick={onExport} />
            {mayMark(team, session) && (
              <IconButton
                icon="star"
                className="star"
                label={marks.starred ? "Remove the star" : "Star"}
                aria-pressed={marks.starred}
                onClick={onStar}
              />
            )}
          </>
        )}
      </div>
      <h1>{showControls(session.title ?? session.first_prompt ?? session.session_id)}</h1>
      <Now detail={detail} />
      <dl className="facts">
        <WhoseIt session={session} />
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
        <Fact name="Cost" value={session.cost_usd === null ? "price unknown" : formatMoney(session.cost_usd)} />
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
      {detail.resume !== null && resumable && <Resume command={detail.resume} />}
    </div>
  );
}

function Project({ path }: { readonly path: string }) {
  const name = showControls(baseName(path));
  if (SHARED) return <span className="clip">{name}</span>;
  return (
    <Link className="clip" href={sessionsPath({ ...NO_FILTER, project: path })} title={path}>
      {name}
    </Link>
  );
}

/** Whose it is and where it comes from, where there is anybody else. */
function WhoseIt({ session }: { readonly session: SessionDetail["session"] }) {
  const nameOf = useMachineNames();
  const { person, machine } = session;
  if (nameOf === null) return null;
  return (
    <>
      <dt>Owner</dt>
      <dd>
        <Link href={sessionsPath({ ...NO_FILTER, person: person ?? "" })}>
          {showControls(personName(person))}
        </Link>
        , {describeVisibility(session)}
      </dd>
      {machine !== "" && (
        <>
          <dt>Machine</dt>
          <dd>
            <Link href={sessionsPath({ ...NO_FILTER, machine })} title={machine}>
              {showControls(nameOf(machine))}
            </Link>
          </dd>
        </>
      )}
    </>
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
