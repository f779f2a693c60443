/** One answer, and the operations that it started; these are loaded when it is opened. */

import { useQuery } from "@tanstack/react-query";

import { agentCallsQuery } from "@/api/conversation";
import { callsOfQuery } from "@/api/queries";
import type { Call, Sidechain } from "@/api/types";
import { formatCounted, formatDuration } from "@/lib/format";
import { plainTitle } from "@/lib/plain";
import { showControls } from "@/lib/visible";
import { nameOf } from "@/state/call-names";
import { outcomeOf } from "@/state/calls";
import { filterCalls } from "@/state/sidechain";
import type { Shown } from "@/state/sidechain";
import { Icon } from "@/ui/icons";
import { Skeleton } from "@/ui/skeleton";
import { categoryClass, toolIcon } from "@/ui/tools";

import { useConversation } from "../context";

interface GroupProps {
  readonly group: Sidechain;
  /** What it is called: how the answer begins, or what was asked. */
  readonly title: string;
  readonly open: boolean;
  readonly on: boolean;
  readonly shown: Shown;
  readonly current: number | null;
  readonly onToggle: () => void;
  readonly onLook: (group: Sidechain | null) => void;
  readonly onGo: (group: Sidechain, call: Call | null) => void;
}

export function Group(props: GroupProps) {
  const { group, title, open, on, onToggle, onLook, onGo } = props;
  return (
    <details
      className={on ? "sc on" : "sc"}
      open={open}
      onPointerEnter={() => {
        onLook(group);
      }}
      onPointerLeave={() => {
        onLook(null);
      }}
    >
      <summary
        onClick={(event) => {
          event.preventDefault();
          onToggle();
        }}
      >
        <Icon name="right" className="chev" />
        <span className="q clip2">{showControls(plainTitle(title))}</span>
        <span className="meta dot-sep">
          <span>{formatCounted(group.operations, "operation")}</span>
          {group.failed > 0 && <span className="fail">{group.failed} failed</span>}
          {group.duration_ms !== null && <span>{formatDuration(group.duration_ms)}</span>}
        </span>
      </summary>
      {open && (
        <>
          <Operations {...props} />
          <button
            type="button"
            className="sc-go"
            onClick={() => {
              onGo(group, null);
            }}
          >
            Go to the answer
          </button>
        </>
      )}
    </details>
  );
}

function Operations({ group, shown, current, onGo }: GroupProps) {
  const { session } = useConversation();
  const query = useQuery(callsOfQuery(session, group.message_uuid));
  if (query.isPending) return <Skeleton rows={Math.min(group.operations, 5)} shape="turn" />;
  if (query.isError) return <p className="sc-none">They could not be loaded: {query.error.message}</p>;
  return (
    <ul>
      {filterCalls(query.data, shown).map((call) => (
        <Operation
          key={call.index}
          call={call}
          deep={false}
          current={call.index === current}
          onGo={() => {
            onGo(group, call);
          }}
        />
      ))}
    </ul>
  );
}

interface OperationProps {
  readonly call: Call;
  /** Whether it is one of a sub-agent's. */
  readonly deep: boolean;
  readonly current: boolean;
  readonly onGo: () => void;
}

function Operation({ call, deep, current, onGo }: OperationProps) {
  const { agents } = useConversation();
  const { name, argument } = nameOf(call);
  const outcome = outcomeOf(call);
  const bad = outcome.kind === "failed";
  const classes = ["op", bad && "bad", deep && "deep", outcome.kind === "running" && "now"];
  const agent =
    deep || call.agent_id === null || call.category !== "agent" ? undefined : agents.get(call.agent_id);
  return (
    <>
      <li>
        <button
          type="button"
          className={classes.filter(Boolean).join(" ")}
          aria-current={current ? "true" : undefined}
          onClick={onGo}
        >
          <span className={categoryClass(call.category)}>
            <Icon name={toolIcon(call.name, call.category)} />
          </span>
          <b>{showControls(name)}</b>
          <code className="clip">{showControls(argument)}</code>
          <span className="d">
            {bad
              ? showControls(outcome.text)
              : call.duration_ms === null
                ? ""
                : formatDuration(call.duration_ms)}
          </span>
        </button>
      </li>
      {agent?.source != null && <Inside source={agent.source} onGo={onGo} />}
    </>
  );
}

const MOST_INSIDE = 4;

/** The first few things that a sub-agent did. */
function Inside({ source, onGo }: { readonly source: string; readonly onGo: () => void }) {
  const { session } = useConversation();
  const query = useQuery(agentCallsQuery(session, source));
  const calls = query.data ?? [];
  return (
    <>
      {calls.slice(0, MOST_INSIDE).map((call) => (
        <Operation key={call.index} call={call} deep current={false} onGo={onGo} />
      ))}
      {calls.length > MOST_INSIDE && (
        <li>
          <button type="button" className="op deep quiet" onClick={onGo}>
            <span />
            <b>{calls.length - MOST_INSIDE} more</b>
            <span />
            <span />
          </button>
        </li>
      )}
    </>
  );
}
