/** Sessions: all of them by day, narrowed down, one click from being read. */

import { lazy, Suspense, useCallback, useMemo, useRef } from "react";

import type { SessionItem } from "@/api/types";
import { useMachineNames } from "@/features/sharing/use-machine-names";
import { useTeam } from "@/state/use-me";
import { useTitle } from "@/features/shell/use-title";
import { isNarrowed, NO_FILTER } from "@/lib/routes";
import { useStore } from "@/state/binding";
import { buildListRows } from "@/state/session-rows";
import { density } from "@/state/settings";
import { mayMark } from "@/state/sharing";
import { Button } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Empty } from "./empty";
import { Facets } from "./facets";
import { SessionList } from "./list";
import { ListBar, SelectionBar } from "./list-bar";
import { Columns } from "./rows";
import { useListKeys } from "./use-list-keys";
import { useFilter, useGroups, useMarks, useSessions } from "./use-sessions";

const Peek = lazy(() => import("./peek").then((part) => ({ default: part.Peek })));
const ExportDialog = lazy(() =>
  import("@/features/exporting/dialog").then((part) => ({ default: part.ExportDialog })),
);
const ShareMany = lazy(() => import("@/features/sharing/many").then((part) => ({ default: part.ShareMany })));
const TagsDialog = lazy(() => import("./tags-dialog").then((part) => ({ default: part.TagsDialog })));

export function SessionsPage() {
  const [filter, change] = useFilter();
  const query = useSessions(filter);
  const { sessions, total, rows: rowCount, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  const rowHeight = useStore(density);
  const team = useTeam();
  const isMarkable = useCallback((session: SessionItem) => mayMark(team, session), [team]);
  const { mark, star } = useMarks(isMarkable);
  const scroller = useRef<HTMLElement>(null);
  const complete = query.isSuccess && !hasNextPage;
  const byDay = filter.sort === "newest" || filter.sort === "oldest";
  const groups = useGroups(filter, sessions);
  const rows = useMemo(
    () => buildListRows(sessions, { sort: filter.sort, now: new Date(), complete, opened: groups.opened }),
    [sessions, filter.sort, complete, groups.opened],
  );
  const listed = useMemo(() => rows.flatMap((row) => (row.kind === "session" ? [row.session] : [])), [rows]);
  const keys = useListKeys(listed, star, groups.toggle);
  const machineName = useMachineNames();
  useTitle("Sessions");

  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);

  const narrowed = isNarrowed(filter);
  if (query.isSuccess && total === 0 && !narrowed && !query.isPlaceholderData) {
    return <Empty onLook={() => void refetch()} />;
  }
  return (
    <div className="wrap">
      <Facets filter={filter} drawn={keys.drawn} onChange={change} />
      <main
        id="main"
        ref={scroller}
        className={query.isPlaceholderData ? "list dim" : "list"}
        data-rows={rowHeight}
        data-team={team !== null || undefined}
        tabIndex={-1}
      >
        {keys.selected.size > 0 ? (
          <SelectionBar
            count={keys.selected.size}
            onStar={() => {
              mark(keys.marked, { starred: !keys.marked.every((session) => session.marks.starred) });
            }}
            onTag={() => {
              keys.setTagging(true);
            }}
            onExport={() => {
              keys.setExporting(true);
            }}
            onShare={
              team?.may_write
                ? () => {
                    keys.setSharing(true);
                  }
                : null
            }
            onPutAway={() => {
              mark(keys.marked, { archived: true });
              keys.clear();
            }}
            onClear={keys.clear}
          />
        ) : (
          <ListBar
            filter={filter}
            onChange={change}
            total={query.isSuccess ? total : null}
            drawn={keys.drawn}
            onDraw={keys.toggleDrawn}
          />
        )}
        {query.isError && sessions.length === 0 ? (
          <Notice title="The sessions could not be listed." detail={query.error.message}>
            <button type="button" onClick={() => void refetch()}>
              Try again
            </button>
          </Notice>
        ) : query.isSuccess && sessions.length === 0 ? (
          <NoMatch
            onClear={() => {
              change({ ...NO_FILTER, sort: filter.sort });
            }}
          />
        ) : (
          <div role="table" aria-label="Sessions" aria-rowcount={query.isSuccess ? rowCount : undefined}>
            <div role="rowgroup">
              <Columns sort={filter.sort} team={team !== null} />
            </div>
            {query.isPending ? (
              <Skeleton rows={10} shape="session" />
            ) : (
              <SessionList
                rows={rows}
                density={rowHeight}
                byDay={byDay}
                current={keys.current}
                selected={keys.selected}
                machineName={machineName}
                isMarkable={isMarkable}
                missing={Math.max(0, rowCount - sessions.length)}
                opened={groups.opened}
                onToggleGroup={groups.toggle}
                onMoreOfGroup={groups.more}
                scroller={scroller}
                onStar={star}
                onNearEnd={loadMore}
              />
            )}
          </div>
        )}
      </main>
      <Suspense fallback={null}>
        {keys.peeked && <Peek session={keys.peeked} onClose={keys.closePeek} />}
        {keys.exporting && keys.marked.length > 0 && (
          <ExportDialog
            sessions={keys.marked.map(({ key, title, first_prompt, session_id }) => ({
              key,
              name: title ?? first_prompt ?? session_id,
            }))}
            onDone={() => undefined}
            onClose={() => {
              keys.setExporting(false);
            }}
          />
        )}
        {keys.sharing && team && keys.marked.length > 0 && (
          <ShareMany
            sessions={keys.marked}
            me={team.name}
            admin={team.is_admin}
            onClose={() => {
              keys.setSharing(false);
            }}
          />
        )}
        {keys.tagging && keys.marked.length > 0 && (
          <TagsDialog
            sessions={keys.marked}
            onMark={mark}
            onClose={() => {
              keys.setTagging(false);
            }}
          />
        )}
      </Suspense>
    </div>
  );
}

function NoMatch({ onClear }: { readonly onClear: () => void }) {
  return (
    <div className="none" role="status">
      <b>No sessions match.</b>
      <p>All filters must match. Remove one, or clear them all.</p>
      <Button onClick={onClear}>Show all sessions</Button>
    </div>
  );
}
