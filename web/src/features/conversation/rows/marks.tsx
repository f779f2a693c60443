/** What happened to the conversation, and bookkeeping: small rows between what was said. */

import { rawUrl } from "@/api/client";
import { formatClock, formatCounted, formatDuration, formatMoney, formatTokens } from "@/lib/format";
import { printJson } from "@/lib/json";
import { modelName, modeName } from "@/lib/names";
import { plainTitle } from "@/lib/plain";
import { SHARED } from "@/lib/routes";
import { showControls, stripTerminal } from "@/lib/visible";
import { toggle } from "@/state/flow/folds";
import type { Change } from "@/state/flow/changes";
import type { ContentRow, Step } from "@/state/flow/rows";
import { Output } from "@/ui/code";
import { Icon } from "@/ui/icons";
import { Markdown } from "@/ui/markdown";
import { categoryClass, categoryIcon } from "@/ui/tools";

import { HookChips } from "../bodies/hooks";
import { useConversation } from "../context";
import { Fold } from "../fold";

type RowOf<K extends ContentRow["kind"]> = Extract<ContentRow, { kind: K }>;

export function MarkRow({ row }: { readonly row: RowOf<"mark"> }) {
  const clock = formatClock(row.message.created_at);
  return (
    <div className="markline">
      {row.change ? (
        <span>
          <Icon name={row.change.of === "model" ? "half" : "plan"} />
          <span>
            <b>{row.change.of === "model" ? "Model" : "Mode"}</b> {nameIn(row.change, row.change.before)} →{" "}
            {nameIn(row.change, row.change.now)}, {clock}
          </span>
        </span>
      ) : (
        <span>
          <Icon name="pause" />
          <span>
            <b>You interrupted</b> {clock}
          </span>
        </span>
      )}
    </div>
  );
}

function nameIn({ of }: Change, name: string): string {
  return showControls(of === "model" ? modelName(name) : modeName(name));
}

const STEPS: Readonly<Record<Step, string>> = {
  compacting: "Compacting the context",
  compacted: "Context compacted",
  restoring: "Restoring the conversation",
  restored: "Conversation restored",
};

/** What the lines of steps say of themselves: the heading says it already. */
const BARE = new Set([
  "Compacting the conversation",
  "Conversation compacted",
  "Restoring the conversation",
  "Conversation restored",
]);

/** Two bars: what was read before, and what was left. */
export function CompactionRow({ row }: { readonly row: RowOf<"compaction"> }) {
  const { before, after, step, message } = row;
  const told = message.compaction?.kept == null && !BARE.has(message.content) ? message.content : "";
  return (
    <div className="cmp">
      <div className="hd">
        <Icon name="compact" />
        <b>{STEPS[step]}</b>
        <span>{formatClock(row.message.created_at)}</span>
      </div>
      {before !== null && after !== null && (
        <div className="bars">
          <span>before</span>
          <i style={{ width: `${(before / Math.max(before, after)) * 100}%` }} />
          <span className="num">{formatTokens(before)}</span>
          <span>after</span>
          <i className="b" style={{ width: `${(after / Math.max(before, after)) * 100}%` }} />
          <span className="num">{formatTokens(after)}</span>
        </div>
      )}
      {told && <p className="sum">{showControls(firstLine(told))}</p>}
    </div>
  );
}

export function HooksRow({ row }: { readonly row: RowOf<"hooks"> }) {
  return (
    <div className="row0">
      <span />
      <HookChips id={row.key} hooks={row.hooks} />
    </div>
  );
}

/** What happened between two messages, on one line. */
export function NotesRow({ row }: { readonly row: RowOf<"notes"> }) {
  const { notes } = row;
  const [first] = notes;
  const texts = [...new Set(notes.map((note) => note.text))];
  const line = showControls(texts.join(" · "));
  const category = texts.length === 1 ? (first?.category ?? null) : null;
  const name = category === null ? "Meanwhile" : (CATEGORIES[category] ?? "System");
  const summary = (
    <>
      <span className={`g ${categoryClass(category)}`}>
        <Icon name={categoryIcon(category)} />
      </span>
      <b>{name}</b>
      <span className="clip">{line}</span>
      <span />
    </>
  );
  if (notes.length === 1 && line.length < 100) return <div className="sys">{summary}</div>;
  return (
    <Fold id={row.key} className="sys-fold" summary={<span className="sys">{summary}</span>}>
      {() => (
        <ul className="in">
          {notes.map((note) => (
            <li key={note.line}>
              {formatClock(note.created_at)} {showControls(note.text)}
            </li>
          ))}
        </ul>
      )}
    </Fold>
  );
}

const KEPT = { prelude: "Kept from before", recap: "Summary of what came before" } as const;

export function SummaryRow({ row }: { readonly row: RowOf<"summary"> }) {
  return (
    <Fold
      id={row.key}
      className="think"
      summary={
        <>
          <span className="g">
            <Icon name="compact" />
          </span>
          <span>{row.message.compaction?.kept ? KEPT[row.message.compaction.kept] : "Summary"}</span>
          <span className="gist clip">{showControls(plainTitle(firstLine(row.message.content)))}</span>
          <span className="dur">{formatCounted(row.message.content.length, "character")}</span>
        </>
      }
    >
      {() => (
        <div className="inner">
          <Markdown text={row.message.content} />
        </div>
      )}
    </Fold>
  );
}

export function ErrorRow({ row }: { readonly row: RowOf<"error"> }) {
  const [title = "", ...rest] = stripTerminal(row.message.content).trim().split("\n");
  return (
    <div className="err">
      <span className="g">
        <Icon name="error" />
      </span>
      <div>
        <div className="hd">
          <b>{showControls(title) || "An error"}</b>
          <span className="meta">
            {formatClock(row.message.created_at)} {title === "" && <RawLink row={row} />}
          </span>
        </div>
        {rest.length > 0 && <p>{showControls(rest.join("\n"))}</p>}
      </div>
    </div>
  );
}

const NAMES: Readonly<Record<string, string>> = {
  notice: "Background",
  "lone-result": "Result without its call",
  "lone-output": "Output",
  "lone-progress": "Progress",
  hook: "Hook",
  "context-shown": "Context",
  "ran-command": "Command",
  meta: "Metadata",
};

const CATEGORIES: Readonly<Record<string, string>> = {
  hook: "Hook",
  hook_progress: "Hook",
  snapshot: "Snapshot",
  queue: "Queue",
};

export function SystemRow({ row }: { readonly row: RowOf<"system"> }) {
  const { message } = row;
  const text = stripTerminal(message.content).trim();
  const line = firstLine(text);
  const summary = (
    <>
      <span className={`g ${categoryClass(message.category)}`}>
        <Icon name={categoryIcon(message.category)} />
      </span>
      <b>{NAMES[message.rule] ?? CATEGORIES[message.category ?? ""] ?? "System"}</b>
      <span className="clip">{showControls(line)}</span>
      {text === "" ? <RawLink row={row} /> : <span />}
    </>
  );
  if (text === line && line.length < 100) return <div className="sys">{summary}</div>;
  return (
    <Fold id={row.key} className="sys-fold" summary={<span className="sys">{summary}</span>}>
      {() => (
        <div className="in">
          <Output text={message.content} wrap />
        </div>
      )}
    </Fold>
  );
}

export function UnknownRow({ row }: { readonly row: RowOf<"unknown"> }) {
  return (
    <Fold
      id={row.key}
      className="unk"
      summary={
        <>
          <span className="g c-system">
            <Icon name="unknown" />
          </span>
          <span className="lab">
            <code>{showControls(row.type)}</code>
            <span className="clip">a kind turnlog does not know yet, kept as it came</span>
          </span>
          <span />
        </>
      }
    >
      {() => (
        <div className="in">
          {row.json === null ? (
            <p className="meta">
              It is too long to show here. <RawLink row={row} />
            </p>
          ) : (
            <Output text={printJson(row.json)} wrap language="json" />
          )}
        </div>
      )}
    </Fold>
  );
}

export function BrokenRow({ row, message }: { readonly row: ContentRow; readonly message: string }) {
  return (
    <div className="err">
      <span className="g">
        <Icon name="error" />
      </span>
      <div>
        <div className="hd">
          <b>This could not be displayed</b>
          <RawLink row={row} />
        </div>
        <p>{showControls(message)}</p>
      </div>
    </div>
  );
}

export function BranchRow({ row }: { readonly row: RowOf<"branch"> }) {
  const { runs } = useConversation();
  return (
    <div className="markline">
      <button
        type="button"
        onClick={() => {
          toggle(runs, row.run);
        }}
      >
        <Icon name="branch" />
        {formatCounted(row.messages, "message")} of another branch
      </button>
    </div>
  );
}

export function TurnEndRow({ row }: { readonly row: RowOf<"turn-end"> }) {
  const { turn } = row;
  const { copyTurn } = useConversation();
  return (
    <div className="turn-end dot-sep">
      {turn.duration_ms !== null && <span>{formatDuration(turn.duration_ms)}</span>}
      {turn.calls > 0 && <span>{formatCounted(turn.calls, "call")}</span>}
      <span>
        {formatTokens(turn.input_tokens)} in, {formatTokens(turn.output_tokens)} out
      </span>
      {turn.cost_usd !== null && <span>{formatMoney(turn.cost_usd)}</span>}
      {copyTurn && (
        <button
          type="button"
          className="turn-copy"
          onClick={() => {
            copyTurn(turn);
          }}
        >
          Copy turn
        </button>
      )}
    </div>
  );
}

/** What words are missing for can be looked at as it stands in the file. */
function RawLink({ row }: { readonly row: ContentRow }) {
  const { session } = useConversation();
  if (SHARED) return null;
  return (
    <a
      className="meta btn-link"
      href={rawUrl(session, row.index, row.message.source)}
      target="_blank"
      rel="noopener noreferrer"
    >
      raw line
    </a>
  );
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}
