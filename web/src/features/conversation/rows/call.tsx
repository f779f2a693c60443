/** A tool call: one line; open it for what went in and what came out. */

import { useQuery } from "@tanstack/react-query";

import { callsOfQuery } from "@/api/queries";
import type { Call } from "@/api/types";
import { formatCounted, formatDuration } from "@/lib/format";
import { toolName } from "@/lib/names";
import { showControls } from "@/lib/visible";
import { outcomeOf } from "@/state/calls";
import type { Outcome } from "@/state/calls";
import { toggle } from "@/state/flow/folds";
import type { ContentRow } from "@/state/flow/rows";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";
import { categoryClass, toolIcon } from "@/ui/tools";

import { CallBody } from "../call-body";
import { useConversation } from "../context";
import { Fold } from "../fold";

type RowOf<K extends ContentRow["kind"]> = Extract<ContentRow, { kind: K }>;

/** Tools whose argument is code, and set like it; of the others it is words. */
const WORDY = new Set(["Task", "Agent", "TodoWrite", "AskUserQuestion", "ExitPlanMode", "WebSearch", "Skill"]);

export function CallRow({ row }: { readonly row: RowOf<"call"> }) {
  const { call } = row;
  const { name, server } = toolName(call.name);
  const outcome = outcomeOf(call);
  const argument = call.title === "" ? (server ?? "") : call.title;
  return (
    <Fold
      id={row.key}
      className={outcome.kind === "failed" ? "call bad" : "call"}
      summary={
        <>
          <span className="g">
            <Icon name="right" className="chev" />
            <span className={`glyph ${categoryClass(call.category)}`}>
              <Icon name={toolIcon(call.name, call.category)} />
            </span>
          </span>
          <span className="name">{name}</span>
          {server !== null || WORDY.has(call.name) ? (
            <span className="arg ui">{showControls(argument)}</span>
          ) : (
            <code className="arg">{showControls(argument)}</code>
          )}
          <OutcomeOf outcome={outcome} />
          <span className="dur">{call.duration_ms === null ? "" : formatDuration(call.duration_ms)}</span>
        </>
      }
    >
      {() => <Body call={call} message={row.uuid} />}
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
        <span className="out" aria-label={outcome.text}>
          <span className="pm">
            <span className="p">+{outcome.added}</span> <span className="m">−{outcome.removed}</span>
          </span>
        </span>
      );
    case "running":
      return (
        <span className="out">
          <span className="st st-work" aria-hidden="true" /> <span className="live">{outcome.text}</span>
        </span>
      );
    case "quiet":
      return <span className="out">{outcome.text}</span>;
  }
}

/** Bodies that did not come with the window are fetched when they are asked for. */
function Body({ call, message }: { readonly call: Call; readonly message: string }) {
  const { session } = useConversation();
  const missing = call.input === null && call.result === null;
  const query = useQuery({ ...callsOfQuery(session, message), enabled: missing });
  if (!missing) return <CallBody call={call} />;
  if (query.isPending) return <Skeleton rows={2} shape="message" />;
  if (query.isError) return <Notice title="This call could not be read." detail={query.error.message} />;
  return <CallBody call={query.data.find((other) => other.index === call.index) ?? call} />;
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

export function StubRow({ row }: { readonly row: RowOf<"stub"> }) {
  const failed = row.calls.filter((call) => call.state === "failed").length;
  const names = [...new Set(row.calls.map((call) => toolName(call.name).name))];
  return (
    <div className="stub">
      <span className="g">
        <Icon name="more" />
      </span>
      <span className="clip">
        <b>{formatCounted(row.calls.length, "call")}</b> {names.slice(0, 5).join(", ")}
        {names.length > 5 && " and others"}
      </span>
      <span className="meta">{failed > 0 && <span className="fail">{failed} failed</span>}</span>
    </div>
  );
}
