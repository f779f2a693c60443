/** What stands around the flow: the place line over it, and on a phone a head and a foot. */

import { Link } from "wouter";

import type { Agent, SessionDetail, Turn } from "@/api/types";
import { baseName } from "@/lib/names";
import { sessionPath, SHARED } from "@/lib/routes";
import type { Store } from "@/lib/store";
import { showControls } from "@/lib/visible";
import { usePart, useStore } from "@/state/binding";
import { turnOf } from "@/state/flow/rows";
import type { Row } from "@/state/flow/rows";
import { level } from "@/state/settings";
import { Button, IconButton, Segments } from "@/ui/controls";
import { Icon } from "@/ui/icons";

interface PlaceProps {
  readonly turns: readonly Turn[];
  readonly passed: Store<Row | null>;
  /** The sub-agent that is shown alone. */
  readonly alone: { readonly agent: Agent | undefined; readonly session: string } | null;
  readonly drawn: boolean;
  readonly finding: boolean;
  readonly sidechain: boolean;
  readonly onDraw: () => void;
  readonly onFind: () => void;
  readonly onSidechain: () => void;
}

/** Where one is, and how much is shown. */
export function Place(props: PlaceProps) {
  const { turns, passed, alone, drawn, finding, sidechain, onDraw, onFind, onSidechain } = props;
  const shown = useStore(level);
  const turn = usePart(passed, turnOf);
  const at = turn === null ? undefined : turns[turn];
  return (
    <div className="place">
      <IconButton className="drawer" icon="outline" label="Turns" aria-pressed={drawn} onClick={onDraw} />
      <div className="where clip">
        {alone ? (
          <>
            <Link className="back" href={sessionPath(alone.session)}>
              <Icon name="left" className="i-s" />
              Whole conversation
            </Link>
            <b className="c-agent">{showControls(alone.agent?.type ?? "Sub-agent")}</b>
            <span className="clip">{showControls(alone.agent?.description ?? "")}</span>
          </>
        ) : (
          at && (
            <>
              <b>Turn {at.index + 1}</b>
              <span className="clip">{showControls(at.title)}</span>
            </>
          )
        )}
      </div>
      <Segments
        label="How much to show"
        options={[
          ["prose", "Prose"],
          ["calls", "Calls"],
          ["all", "All"],
        ]}
        value={shown}
        onChange={level.set}
      />
      {!SHARED && (
        <IconButton icon="grep" label="Find in this conversation" aria-pressed={finding} onClick={onFind} />
      )}
      <IconButton icon="panel" label="Sidechain" aria-pressed={sidechain} onClick={onSidechain} />
    </div>
  );
}

export function PhoneHead({ detail }: { readonly detail: SessionDetail | undefined }) {
  const session = detail?.session;
  return (
    <header className="phone-only ph-head">
      {!SHARED && (
        <Link className="icon-b" href="/sessions" aria-label="Back to sessions">
          <Icon name="left" />
        </Link>
      )}
      <div className="t">
        <h1 className="clip">
          {session && showControls(session.title ?? session.first_prompt ?? session.session_id)}
        </h1>
        <span className="meta clip">{session?.project != null && baseName(session.project)}</span>
      </div>
    </header>
  );
}

interface PhoneTabsProps {
  readonly news: number;
  readonly onTurns: () => void;
  readonly onFind: () => void;
  readonly onEnd: () => void;
  readonly onSidechain: () => void;
}

export function PhoneTabs({ news, onTurns, onFind, onEnd, onSidechain }: PhoneTabsProps) {
  return (
    <nav className="phone-only ph-tabs" aria-label="In this conversation">
      <button type="button" onClick={onTurns}>
        <Icon name="outline" />
        Turns
      </button>
      {!SHARED && (
        <button type="button" onClick={onFind}>
          <Icon name="grep" />
          Find
        </button>
      )}
      <button type="button" className={news > 0 ? "live" : undefined} onClick={onEnd}>
        <Icon name="end" />
        {news > 0 ? `${news} new` : "End"}
      </button>
      <button type="button" onClick={onSidechain}>
        <Icon name="panel" />
        Sidechain
      </button>
    </nav>
  );
}

/** A conversation in which nothing is to be seen says why. */
export function Silent({ total }: { readonly total: number }) {
  return (
    <div className="none">
      <b>{total === 0 ? "This session has no messages." : "Nothing to show at this level."}</b>
      {total === 0 ? (
        <p>The file of this session contains only Claude Code’s own records.</p>
      ) : (
        <Button
          onClick={() => {
            level.set("all");
          }}
        >
          Show all
        </Button>
      )}
    </div>
  );
}
