/** What stands around the flow: the place line over it, and on a phone a head and a foot. */

import { Link } from "wouter";

import type { SessionDetail, Turn } from "@/api/types";
import { baseName } from "@/lib/names";
import type { Store } from "@/lib/store";
import { usePart, useStore } from "@/state/binding";
import { turnOf } from "@/state/flow/rows";
import type { Row } from "@/state/flow/rows";
import { level } from "@/state/settings";
import { Button, IconButton, Segments } from "@/ui/controls";
import { Icon } from "@/ui/icons";

interface PlaceProps {
  readonly turns: readonly Turn[];
  readonly passed: Store<Row | null>;
  readonly drawn: boolean;
  readonly onDraw: () => void;
}

/** Where one is, and how much is shown. */
export function Place({ turns, passed, drawn, onDraw }: PlaceProps) {
  const shown = useStore(level);
  const turn = usePart(passed, turnOf);
  const at = turn === null ? undefined : turns[turn];
  return (
    <div className="place">
      <IconButton className="drawer" icon="outline" label="Turns" aria-pressed={drawn} onClick={onDraw} />
      <div className="where clip">
        {at && (
          <>
            <b>Turn {at.index + 1}</b>
            <span className="clip">{at.title}</span>
          </>
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
    </div>
  );
}

export function PhoneHead({ detail }: { readonly detail: SessionDetail | undefined }) {
  const session = detail?.session;
  return (
    <header className="phone-only ph-head">
      <Link className="icon-b" href="/sessions" aria-label="Back to sessions">
        <Icon name="left" />
      </Link>
      <div className="t">
        <h1 className="clip">{session && (session.title ?? session.first_prompt ?? session.session_id)}</h1>
        <span className="meta clip">{session?.project != null && baseName(session.project)}</span>
      </div>
    </header>
  );
}

export function PhoneTabs({ onTurns, onEnd }: { readonly onTurns: () => void; readonly onEnd: () => void }) {
  return (
    <nav className="phone-only ph-tabs" aria-label="In this conversation">
      <button type="button" onClick={onTurns}>
        <Icon name="outline" />
        Turns
      </button>
      <button type="button" onClick={onEnd}>
        <Icon name="end" />
        End
      </button>
    </nav>
  );
}

/** A conversation in which nothing is to be seen says why. */
export function Silent({ total }: { readonly total: number }) {
  return (
    <div className="none">
      <b>{total === 0 ? "Nothing was said here." : "Nothing to see at this level."}</b>
      {total === 0 ? (
        <p>The file of this session holds only the program’s own notes.</p>
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
