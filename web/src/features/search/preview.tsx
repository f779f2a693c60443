/** The conversation itself, around a hit. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { Link } from "wouter";

import { aroundQuery } from "@/api/search";
import type { Hit, MessageWindow } from "@/api/types";
import { ConversationProvider } from "@/features/conversation/context";
import { RowContent } from "@/features/conversation/rows";
import { useTeam } from "@/state/use-me";
import { formatClock } from "@/lib/format";
import { hitPath } from "@/lib/routes";
import { toUnits } from "@/lib/units";
import { createFolds } from "@/state/flow/folds";
import { insertWindow } from "@/state/flow/layout";
import { buildRows, foldKey } from "@/state/flow/rows";
import type { ContentRow } from "@/state/flow/rows";
import { spaceBefore } from "@/state/flow/spacing";
import { wordsOf } from "@/state/hit-groups";
import { askerOf } from "@/state/sharing";
import { clearHighlight, highlightWords } from "@/ui/highlight";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

const BEFORE = 4;
const AFTER = 8;
const NAME = "hit";

interface PreviewProps {
  readonly hit: Hit;
  readonly at: number;
  /** How many hits are loaded. */
  readonly of: string;
}

export function Preview({ hit, at, of }: PreviewProps) {
  const query = useQuery({ ...aroundQuery(hit), enabled: hit.message_uuid !== null });
  return (
    <aside className="pv" aria-label="Preview">
      <div className="ph">
        <b>{formatClock(hit.created_at) || "Preview"}</b>
        <span className="meta">
          hit {at + 1} of {of}
        </span>
        <span className="grow" />
        <Link className="btn btn-s" href={hitPath(hit)}>
          Open here <kbd aria-hidden="true">↵</kbd>
        </Link>
      </div>
      {hit.message_uuid === null ? (
        <p className="pv-none">
          {hit.kind === "title" ? "This is the session’s title." : "It belongs to no message."}
        </p>
      ) : query.isError ? (
        <Notice title="It could not be loaded." detail={query.error.message} />
      ) : query.data ? (
        <Around key={`${hit.session} ${hit.source} ${hit.message_uuid}`} hit={hit} window={query.data} />
      ) : (
        <Skeleton rows={6} shape="message" />
      )}
    </aside>
  );
}

function Around({ hit, window }: { readonly hit: Hit; readonly window: MessageWindow }) {
  const { rows, target } = useMemo(() => rowsAround(window, hit), [window, hit]);
  const root = useRef<HTMLDivElement>(null);
  const session = hit.session ?? hit.session_id;
  const asker = askerOf(useTeam(), hit.person);
  const context = useMemo(() => {
    const folds = createFolds();
    if (target) folds.set(new Set([foldKey(target)]));
    return { session, folds, runs: createFolds(), announce: () => undefined, asker };
  }, [session, target, asker]);

  // What is folded is drawn when it is loaded: marks are set whenever something was drawn.
  useLayoutEffect(() => {
    const element = root.current;
    if (!element) return;
    const words = wordsOf(hit, toUnits(hit.snippet, hit.marks));
    let seen = false;
    const mark = () => {
      const row = element.querySelector("[data-target]") ?? element;
      const range = highlightWords(row, words, NAME);
      if (seen) return;
      seen = range !== null;
      (range?.startContainer.parentElement ?? row).scrollIntoView({ block: "center" });
    };
    mark();
    const watcher = new MutationObserver(mark);
    watcher.observe(element, { childList: true, subtree: true });
    return () => {
      watcher.disconnect();
    };
  }, [hit]);
  useEffect(
    () => () => {
      clearHighlight(NAME);
    },
    [],
  );
  return (
    <ConversationProvider value={context}>
      <div className="flow" ref={root}>
        {rows.map((row, at) => (
          <div
            key={row.key}
            className={`gap-${spaceBefore(row, rows[at - 1])}${row.nested ? " nested" : ""}`}
            data-target={row === target || undefined}
          >
            <RowContent row={row} />
          </div>
        ))}
      </div>
    </ConversationProvider>
  );
}

/** A few rows before the hit, and some behind it. */
function rowsAround(window: MessageWindow, hit: Hit): { rows: ContentRow[]; target: ContentRow | undefined } {
  const all = buildRows(insertWindow([], window), {
    level: "all",
    turns: [],
    openRuns: new Set(),
    asked: hit.message_uuid,
  }).filter((row) => row.kind !== "gap");
  const of = all.filter((row) => row.uuid === hit.message_uuid);
  const target =
    of.find((row) => row.kind === "call" && row.call.index === hit.call) ??
    of.find((row) => row.kind === (hit.kind === "thinking" ? "thinking" : "text")) ??
    of[0];
  const at = target ? all.indexOf(target) : 0;
  return { rows: all.slice(Math.max(0, at - BEFORE), at + AFTER), target };
}
