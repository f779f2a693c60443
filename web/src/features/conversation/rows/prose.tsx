/** What was said: prompts and answers, and what was thought. */

import { formatClock, formatMoment } from "@/lib/format";
import { plainTitle } from "@/lib/plain";
import type { Fork } from "@/state/flow/branches";
import type { ContentRow } from "@/state/flow/rows";
import { Icon } from "@/ui/icons";
import { Markdown } from "@/ui/markdown";
import { showControls } from "@/lib/visible";

import { useConversation, useDepth, useFold } from "../context";
import { Fold } from "../fold";
import { Picture } from "../picture";
import { MessageTools } from "../tools";

type RowOf<K extends ContentRow["kind"]> = Extract<ContentRow, { kind: K }>;

const LONG_PROMPT = 3000;
const LONG_LINES = 30;

const NOTES: Readonly<Record<string, string>> = {
  command: "command",
  queued: "sent while Claude was working",
  waiting: "still in the queue",
};
const SPEAKERS: Readonly<Record<string, string>> = {
  claude: "Claude",
  agent: "Agent",
  system: "Program",
};

export function PromptRow({ row }: { readonly row: RowOf<"prompt"> }) {
  return useDepth() > 0 ? <Asked row={row} /> : <Prompt row={row} />;
}

/** What a sub-agent was asked is long, and stood in its call already: one line. */
function Asked({ row }: { readonly row: RowOf<"prompt"> }) {
  const { content } = row.message;
  return (
    <Fold
      id={row.key}
      className="think"
      summary={
        <>
          <span className="g">
            <Icon name="right" />
          </span>
          <span>Asked</span>
          <span className="gist clip">{showControls(plainTitle(content.trim().split("\n", 1)[0] ?? ""))}</span>
          <span className="dur" />
        </>
      }
    >
      {() => (
        <div className="inner">
          <Markdown text={content} />
        </div>
      )}
    </Fold>
  );
}

function Prompt({ row }: { readonly row: RowOf<"prompt"> }) {
  const { message } = row;
  const text = message.content;
  const { asker } = useConversation();
  const speaker =
    message.author === "human" ? showControls(asker) : (SPEAKERS[message.author] ?? message.author);
  const note = NOTES[message.rule];
  const clock = formatClock(message.created_at);
  return (
    <article className="row0" aria-label={`${speaker}, ${clock}`}>
      {message.turn !== null && !row.nested && <span className="turn-no">{message.turn + 1}</span>}
      <span />
      <div className="prompt">
        <div className="by">
          <b>{speaker}</b>
          <time dateTime={message.created_at ?? undefined} title={formatMoment(message.created_at)}>
            {clock}
          </time>
          {note && <span>{note}</span>}
          {row.fork && <ForkSwitch fork={row.fork} />}
        </div>
        {text !== "" && <Long id={`${row.key}-long`} text={text} />}
        {message.blocks.some((block) => block.kind === "image") && <Images row={row} />}
      </div>
      <MessageTools message={message} />
    </article>
  );
}

/** Where a prompt was edited there are several ways on: one is shown, the others are a step away. */
function ForkSwitch({ fork }: { readonly fork: Fork }) {
  const { choose } = useConversation();
  const at = fork.branches.findIndex((branch) => branch.index === fork.shown);
  const step = (by: 1 | -1) => {
    const other = fork.branches[at + by];
    return {
      disabled: !other || !choose,
      onClick: () => {
        if (other) choose?.(fork.at, other.index);
      },
    };
  };
  return (
    <>
      <span className="grow" />
      <span className="fork-note">edited prompt</span>
      <span className="fork" role="group" aria-label="Branch">
        <button type="button" aria-label="Previous branch" {...step(-1)}>
          <Icon name="left" />
        </button>
        <span>
          {at + 1} of {fork.branches.length}
        </span>
        <button type="button" aria-label="Next branch" {...step(1)}>
          <Icon name="right" />
        </button>
      </span>
    </>
  );
}

/** A prompt may be a whole file that somebody pasted: it is cut until it is asked for. */
function Long({ id, text }: { readonly id: string; readonly text: string }) {
  const [open, toggle] = useFold(id);
  const cut = open ? null : cutText(text);
  return (
    <>
      <p className="said">{showControls(cut ?? text)}</p>
      {cut !== null && (
        <button type="button" className="btn btn-s said-more" onClick={toggle}>
          Show all of it
        </button>
      )}
    </>
  );
}

function cutText(text: string): string | null {
  const lines = text.split("\n", LONG_LINES + 1);
  const short = lines.slice(0, LONG_LINES).join("\n").slice(0, LONG_PROMPT);
  return short.length + 200 < text.length ? short : null;
}

function Images({ row }: { readonly row: RowOf<"prompt"> }) {
  return row.message.blocks.flatMap((block, at) =>
    block.kind === "image" ? [<Picture key={at} href={block.image.href} alt="Attached to the prompt" />] : [],
  );
}

export function TextRow({ row }: { readonly row: RowOf<"text"> }) {
  const { message } = row;
  const clock = formatClock(message.created_at);
  return (
    <article className="row0 answer" aria-label={`${SPEAKERS[message.author] ?? message.author}, ${clock}`}>
      <span className="g" title={formatMoment(message.created_at)}>
        {row.timed && clock}
      </span>
      <div>
        <Markdown text={row.text} />
        {row.truncated && <p className="meta">Truncated; the raw line has all of it.</p>}
      </div>
      <MessageTools message={message} />
    </article>
  );
}

export function ThinkingRow({ row }: { readonly row: RowOf<"thinking"> }) {
  const gist = row.text.trim().split("\n", 1)[0] ?? "";
  return (
    <Fold
      id={row.key}
      className="think"
      summary={
        <>
          <span className="g">
            <Icon name="think" />
          </span>
          <span>Thought</span>
          <span className="gist clip">{showControls(plainTitle(gist))}</span>
          <span className="dur" />
        </>
      }
    >
      {() => (
        <div className="inner">
          <Markdown text={row.text} />
        </div>
      )}
    </Fold>
  );
}

export function ImageRow({ row }: { readonly row: RowOf<"image"> }) {
  return (
    <div className="row0">
      <span />
      <Picture href={row.block.image.href} alt="In the conversation" />
    </div>
  );
}
