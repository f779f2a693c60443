/** Search: all that was said, thought and done, as one types. */

import "@/styles/search.css";

import { useCallback, useEffect, useId, useMemo, useRef } from "react";
import { useLocation } from "wouter";

import { ApiError } from "@/api/errors";
import type { Hit } from "@/api/types";
import { useTitle } from "@/features/shell/use-title";
import { formatCount, formatCounted } from "@/lib/format";
import { hitPath, SEARCH_ORDERS } from "@/lib/routes";
import type { SearchOrder } from "@/lib/routes";
import { toUnit } from "@/lib/units";
import type { Binding } from "@/state/keys";
import { placeOf, readField, toggleToken } from "@/state/query";
import type { Filter } from "@/state/query";
import { useKeys } from "@/state/use-keys";
import { Segments } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton, usePatience } from "@/ui/skeleton";

import { HitFacets } from "./facets";
import { Field, NarrowBy } from "./field";
import { Hints } from "./hints";
import { Preview } from "./preview";
import { QueryError } from "./query-error";
import { Results } from "./results";
import { useField, useHitNumber, useHits } from "./use-search";

/** The query makes no sense; anything else is the server's trouble. */
const REFUSED: ReadonlySet<number> = new Set([400, 422]);

export function SearchPage() {
  const { asked, field, type, choose, setOrder } = useField();
  const [looked, setHit] = useHitNumber(asked);
  const query = useHits(asked);
  const { hits, groups, complete, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const input = useRef<HTMLInputElement>(null);
  const errorId = useId();
  const empty = asked.text.trim() === "";
  const current = Math.min(looked, Math.max(0, hits.length - 1));
  const hit = hits[current];
  const wrong = query.error instanceof ApiError && REFUSED.has(query.error.status) ? query.error : null;
  const wrongAt = wrong?.details.find((detail) => detail.at != null)?.at ?? null;
  const waits = usePatience(query.isFetching && !isFetchingNextPage);
  useTitle(asked.text, "Search");

  useEffect(() => {
    input.current?.focus();
  }, []);
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const { look, open } = useCurrentHit(hits, current, setHit, input);
  const onName = (name: Filter) => {
    const text = field.text.trim() === "" ? "" : `${field.text.trim()} `;
    type({ ...field, text: `${text}${name}:` });
    input.current?.focus();
  };
  return (
    <div className="sp">
      <div className="qbar" role="search">
        <Field
          state={field}
          input={input}
          hits={hits}
          invalid={wrong !== null}
          wrong={wrongAt === null ? null : placeOf(readField(asked.text), toUnit(asked.text, wrongAt)).token}
          errorId={errorId}
          onType={type}
          onChoose={choose}
          onMove={(step) => {
            look(current + step);
          }}
          onOpen={open}
        >
          <span className="meta found" role="status">
            {empty || wrong !== null ? "" : waits ? "searching" : describeHits(hits, groups, complete)}
          </span>
          <kbd aria-hidden="true">esc</kbd>
        </Field>
        {wrong && <QueryError id={errorId} query={asked.text} at={wrongAt} message={wrong.message} />}
        <div className="add">
          <NarrowBy state={field} onName={onName} />
          <span className="grow" />
          <Segments
            label="Order"
            options={Object.entries(SEARCH_ORDERS) as [SearchOrder, string][]}
            value={asked.order}
            onChange={setOrder}
          />
        </div>
      </div>
      <HitFacets
        state={field}
        hits={hits}
        complete={complete && !empty}
        onToggle={(token) => {
          choose(toggleToken(field, token));
        }}
      />
      <main
        id="main"
        className={query.isPlaceholderData && waits ? "res dim" : "res"}
        aria-label="Results"
        tabIndex={-1}
      >
        <h1 className="sr">Search</h1>
        {empty || (wrong !== null && hits.length === 0) ? (
          <Hints
            onTry={(text) => {
              choose(readField(text));
              input.current?.focus();
            }}
          />
        ) : query.isPending ? (
          <Skeleton rows={8} shape="session" />
        ) : query.isError && wrong === null && hits.length === 0 ? (
          <Notice title="The search failed." detail={query.error.message}>
            <button type="button" onClick={() => void query.refetch()}>
              Try again
            </button>
          </Notice>
        ) : hits.length === 0 && !query.isError ? (
          <div className="none">
            <b>No matches.</b>
            <p>
              All parts of a query must be in the same passage. Use fewer words, or end a word with *, to find
              more.
            </p>
          </div>
        ) : (
          <Results
            groups={groups}
            current={current}
            hasMore={hasNextPage}
            onLook={(at) => {
              if (at !== current) setHit(at);
            }}
            onMore={more}
          />
        )}
        <Unreadable count={query.data?.pages.at(-1)?.unreadable ?? 0} />
        <Behind count={query.data?.pages.at(-1)?.index_backlog ?? 0} />
      </main>
      {hit && !empty ? (
        <Preview
          hit={hit}
          at={current}
          of={complete ? formatCount(hits.length) : `${formatCount(hits.length)} and more`}
        />
      ) : (
        <aside className="pv" aria-label="Preview" />
      )}
    </div>
  );
}

function describeHits(hits: readonly Hit[], groups: readonly unknown[], complete: boolean): string {
  if (hits.length === 0) return "no hits";
  const sessions = new Set(hits.map((hit) => hit.session_id)).size;
  if (!complete) return `the first ${formatCount(hits.length)} hits`;
  return `${formatCounted(hits.length, "hit")} in ${formatCounted(Math.max(sessions, groups.length > 0 ? 1 : 0), "session")}`;
}

function Unreadable({ count }: { readonly count: number }) {
  if (count === 0) return null;
  return (
    <p className="none">
      {formatCounted(count, "passage")} could not be read: the archive is damaged. See Problems.
    </p>
  );
}

function Behind({ count }: { readonly count: number }) {
  if (count === 0) return null;
  return (
    <p className="none">The index is {formatCounted(count, "change")} behind: what is new may be missing.</p>
  );
}

/** The hit that keys act on; what is looked at is brought into sight. */
function useCurrentHit(
  hits: readonly Hit[],
  current: number,
  setHit: (at: number) => void,
  input: React.RefObject<HTMLInputElement | null>,
) {
  const [, navigate] = useLocation();
  const look = useCallback(
    (at: number) => {
      const next = Math.min(Math.max(at, 0), hits.length - 1);
      if (next < 0) return;
      setHit(next);
      document.querySelector(`[data-hit="${next}"]`)?.scrollIntoView({ block: "nearest" });
    },
    [hits.length, setHit],
  );
  const hit = hits[current];
  const open = useCallback(
    (elsewhere: boolean) => {
      if (!hit) return;
      if (elsewhere) window.open(hitPath(hit), "_blank", "noopener");
      else navigate(hitPath(hit));
    },
    [hit, navigate],
  );
  const table = useMemo<readonly Binding[]>(
    () => [
      ...(["j", "ArrowDown"] as const).map((keys) => ({
        keys,
        label: "next hit",
        group: "hit",
        hinted: keys !== "j",
        run: () => {
          look(current + 1);
        },
      })),
      ...(["k", "ArrowUp"] as const).map((keys) => ({
        keys,
        label: "previous hit",
        group: "hit",
        hinted: keys !== "k",
        run: () => {
          look(current - 1);
        },
      })),
      {
        keys: "Enter",
        label: "open at the message",
        hinted: true,
        run: () => {
          open(false);
        },
      },
      { keys: "Tab", label: "complete a filter", hinted: true, run: () => input.current?.focus() },
      { keys: "Backspace", label: "drop the last filter", hinted: true, run: () => input.current?.focus() },
      {
        keys: "/",
        label: "to the field",
        run: () => {
          input.current?.select();
        },
      },
    ],
    [look, open, current, input],
  );
  useKeys(table);
  return { look, open };
}
