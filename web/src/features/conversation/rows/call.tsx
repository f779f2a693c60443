/** A tool call: one line; open it for what went in and what came out. */

import { useQuery } from "@tanstack/react-query";

import { callsOfQuery } from "@/api/queries";
import type { Call } from "@/api/types";
import { formatCounted, formatDuration } from "@/lib/format";
import { toolName } from "@/lib/names";
import { showControls } from "@/lib/visible";
import { nameOf } from "@/state/call-names";
import { outcomeOf } from "@/state/calls";
import type { Outcome } from "@/state/calls";
import { toggle } from "@/state/flow/folds";
import { foldKey } from "@/state/flow/rows";
import type { ContentRow } from "@/state/flow/rows";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";
import { categoryClass, toolIcon } from "@/ui/tools";

import { AgentBody } from "../bodies/agent";
import { CallBody } from "../call-body";
import { useConversation } from "../context";
import { Fold } from "../fold";
import { MessageTools } from "../tools";

type RowOf<K extends ContentRow["kind"]> = Extract<ContentRow, { kind: K }>;

export function CallRow({ row }: { readonly row: RowOf<"call"> }) {
  const { call } = row;
  const { name, argument, aside, words } = nameOf(call);
  const outcome = outcomeOf(call);
  const classes = ["call", outcome.kind === "failed" && "bad", outcome.kind === "running" && "running"];
  return (
    <Fold
      id={foldKey(row)}
      className={classes.filter(Boolean).join(" ")}
      summary={
        <>
          <span className="g">
            <Icon name="right" className="chev" />
            <span className={`glyph ${categoryClass(call.category)}`}>
              <Icon name={toolIcon(call.name, call.category)} />
            </span>
          </span>
          <span className="name">{showControls(name)}</span>
          {words ? (
            <span className="arg ui">{showControls(argument)}</span>
          ) : (
            <code className="arg">
              {showControls(argument)}
              {aside !== null && <em>{showControls(aside)}</em>}
            </code>
          )}
          <OutcomeOf outcome={outcome} />
          <span className="dur">{call.duration_ms === null ? "" : formatDuration(call.duration_ms)}</span>
        </>
      }
    >
      {() => (
        <>
          <Body call={call} message={row.uuid} />
          <MessageTools message={row.message} call={call} />
        </>
      )}
    </Fold>
  );
}

function OutcomeOf({ outcome }: { readonly outcome: Outcome }) {
  switch (outcome.kind) {
    case "failed":
      return (
        <span className="out fail">
          <Icon name="error" />
          {showControls(outcome.text)}
        </span>
      );
    case "changed":
      return (
        <span className="out">
          <span className="pm" aria-hidden="true">
            <span className="p">+{outcome.added}</span> <span className="m">−{outcome.removed}</span>
          </span>
          <span className="sr">{outcome.text}</span>
        </span>
      );
    case "running":
      return (
        <span className="out">
          <span className="st st-work" aria-hidden="true" /> <span className="live">{outcome.text}</span>
        </span>
      );
    case "quiet":
      return <span className="out">{showControls(outcome.text)}</span>;
  }
}

/** Bodies that did not come with the window are fetched when they are asked for. */
function Body({ call, message }: { readonly call: Call; readonly message: string }) {
  const { session } = useConversation();
  const missing = (call.input ?? null) === null && (call.result ?? null) === null;
  const query = useQuery({ ...callsOfQuery(session, message), enabled: missing });
  if (!missing) return <Whole call={call} />;
  if (query.isPending) return <Skeleton rows={2} shape="message" />;
  if (query.isError) return <Notice title="This call could not be loaded." detail={query.error.message} />;
  return <Whole call={query.data.find((other) => other.index === call.index) ?? call} />;
}

/** A call that started a sub-agent shows what it did, and then what it answered. */
function Whole({ call }: { readonly call: Call }) {
  const { agents } = useConversation();
  // Calls that only speak to an agent name it, too.
  const own = call.category === "agent" && agents.has(call.agent_id ?? "") ? call.agent_id : null;
  return (
    <>
      {own !== null && <AgentBody call={call} id={own} />}
      <CallBody call={call} agent={own !== null} />
    </>
  );
}

export function MoreRow({ row }: { readonly row: RowOf<"more"> }) {
  const { runs } = useConversation();
  const failed = row.calls.filter((call) => call.state === "failed").length;
  return (
    <button
      type="button"
      className="more-calls"
      onClick={() => {
        toggle(runs, row.run);
      }}
    >
      <span className="g">
        <Icon name="more" />
      </span>
      <span>
        {formatCounted(row.calls.length, "more call")}
        {failed > 0 && <span className="fail">, {failed} failed</span>}
      </span>
    </button>
  );
}

/** At level Prose calls leave the flow; one line says how many, and shows them in the sidechain. */
export function StubRow({ row }: { readonly row: RowOf<"stub"> }) {
  const { showOperations } = useConversation();
  const failed = row.calls.filter((call) => call.state === "failed").length;
  const names = [...new Set(row.calls.map((call) => toolName(call.name).name))];
  const took = row.calls.reduce((sum, call) => sum + (call.duration_ms ?? 0), 0);
  const [first] = row.calls;
  const content = (
    <>
      <span className="g">
        <Icon name={first && row.calls.length === 1 ? toolIcon(first.name, first.category) : "more"} />
      </span>
      <span className="clip">
        <b>{formatCounted(row.calls.length, "call")}</b> {showControls(names.slice(0, 5).join(", "))}
        {names.length > 5 && " and others"}
        {failed > 0 && <span className="fail">, {failed} failed</span>}
      </span>
      <span className="meta">{took > 0 && formatDuration(took)}</span>
    </>
  );
  if (!showOperations) return <div className="stub">{content}</div>;
  return (
    <button
      type="button"
      className="stub"
      onClick={() => {
        showOperations(row.index);
      }}
    >
      {content}
    </button>
  );
}
