/** A look into a session without leaving the list: what it is, and its turns. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { turnsQuery } from "@/api/queries";
import type { SessionItem } from "@/api/types";
import { useMachineNames } from "@/features/sharing/use-machine-names";
import { formatCounted, formatDuration, formatMoment, formatMoney, formatSpan } from "@/lib/format";
import { baseName, modelName } from "@/lib/names";
import { sessionPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { personName } from "@/state/sharing";
import { IconButton } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";
import { Strip } from "@/ui/strip";

const TURNS = 40;

export function Peek({ session, onClose }: { readonly session: SessionItem; readonly onClose: () => void }) {
  const { data, error } = useQuery(turnsQuery(session.key));
  const title = session.title ?? session.first_prompt ?? session.session_id;
  const machineName = useMachineNames();
  const facts: (string | null | undefined)[] = [
    machineName && personName(session.person),
    machineName && session.machine ? machineName(session.machine) : null,
    session.project === null ? null : baseName(session.project),
    session.git_branch,
    session.models.map(modelName).at(-1),
    formatCounted(session.messages, "message"),
    formatSpan(session.duration_ms),
    formatMoney(session.cost_usd),
  ];
  return (
    <aside className="peek" aria-label="Preview">
      <header>
        <h2 className="clip">
          <bdi>{showControls(title)}</bdi>
        </h2>
        <IconButton icon="x" label="Close" onClick={onClose} />
      </header>
      <p className="meta dot-sep" title={formatMoment(session.last_at)}>
        {facts.map((fact, at) => (fact == null ? null : <span key={at}>{showControls(fact)}</span>))}
      </p>
      {session.first_prompt !== null && session.first_prompt !== title && (
        <p className="said">
          <bdi>{showControls(session.first_prompt)}</bdi>
        </p>
      )}
      {session.marks.note != null && <p className="note">{showControls(session.marks.note)}</p>}
      {error && <Notice title="Its turns could not be listed." detail={error.message} />}
      {!data && !error && <Skeleton rows={4} shape="turn" />}
      {data?.items.length === 0 && <p className="quiet">It has no prompts.</p>}
      <ol>
        {data?.items.slice(0, TURNS).map((turn) => (
          <li key={turn.index}>
            <Link href={sessionPath(session.key, turn.prompt_uuid)}>
              <span className="no">{turn.index + 1}</span>
              <bdi className="clip2">{showControls(turn.title)}</bdi>
              <span className="meta">
                {turn.calls > 0 && formatCounted(turn.calls, "call")} {formatDuration(turn.duration_ms)}
              </span>
              <Strip bars={turn.call_bars} />
            </Link>
          </li>
        ))}
        {data && data.items.length > TURNS && <li className="quiet">and {data.items.length - TURNS} more</li>}
      </ol>
    </aside>
  );
}
