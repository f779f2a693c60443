/** Mission control: who needs you, who works, and who is done. */

import "@/styles/mission-control.css";

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useLocation, useSearch } from "wouter";

import { boardQuery } from "@/api/board";
import type { Board, BoardCard } from "@/api/board";
import { useTitle } from "@/features/shell/use-title";
import { parseGrouping, missionControlPath } from "@/lib/routes";
import { cardsOfToday, describeBoard, groupCards } from "@/state/board";
import type { BoardGroup } from "@/state/board";
import { Segments } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { useBoardKeys } from "./board-keys";
import { Card } from "./card";
import { Done } from "./done";
import { NothingLive } from "./empty";
import { Lanes } from "./lanes";
import { NotifyControls, NotifySheet } from "./notify";

const NO_CARDS: readonly BoardCard[] = [];

export function MissionControlPage() {
  const { data: board, error, refetch } = useQuery(boardQuery());
  const cards = useMemo(() => (board ? cardsOfToday(board, new Date(board.at)) : NO_CARDS), [board]);
  useTitle("Mission control");
  if (board && cards.length === 0) return <NothingLive />;
  return (
    <main id="main" className="mc" tabIndex={-1}>
      {error && !board && (
        <Notice title="The board could not be loaded." detail={error.message}>
          <button type="button" onClick={() => void refetch()}>
            Try again
          </button>
        </Notice>
      )}
      {board ? <Live board={board} cards={cards} /> : !error && <Skeleton rows={6} shape="session" />}
    </main>
  );
}

function Live({ board, cards }: { readonly board: Board; readonly cards: readonly BoardCard[] }) {
  const by = parseGrouping(useSearch());
  const [, navigate] = useLocation();
  const [sheet, setSheet] = useState(false);
  const groups = useMemo(() => groupCards(cards, by), [cards, by]);
  const { current, said } = useBoardKeys(groups);
  const { first, rest } = describeBoard(cards);
  const byFilesAlone = cards.filter((card) => card.column !== "done" && card.evidence === "transcript").length;
  return (
    <>
      <div className="mc-head">
        <h1>
          {first} <span>{rest}</span>
        </h1>
        <NotifyControls
          onOpen={() => {
            setSheet(true);
          }}
        />
        <Segments
          label="Group by"
          options={[
            ["state", "State"],
            ["project", "Project"],
          ]}
          value={by}
          onChange={(value) => {
            navigate(missionControlPath(value), { replace: true });
          }}
        />
      </div>
      <div className="board" data-by={by}>
        {groups.map((group) => (
          <Column key={group.key} group={group} current={current} />
        ))}
      </div>
      {byFilesAlone > 0 && (
        <p className="mc-hint meta">
          {byFilesAlone === 1 ? "One of these is" : `${byFilesAlone} of these are`} judged by the file alone;{" "}
          <code>turnlog hooks install</code> tells at once when a session waits, and why.
        </p>
      )}
      <Lanes board={board} />
      <NotifySheet
        open={sheet}
        onClose={() => {
          setSheet(false);
        }}
      />
      <div className="sr" role="status">
        {said}
      </div>
    </>
  );
}

const MARKS = { needs_you: "wait", working: "work", done: "done" } as const;

/** A column without cards is quiet. */
function markOf({ kind, cards }: BoardGroup): string | null {
  if (kind === "project") return null;
  return cards.length === 0 ? "idle" : MARKS[kind];
}

function Column({ group, current }: { readonly group: BoardGroup; readonly current: string | null }) {
  const { kind, name, cards } = group;
  const mark = markOf(group);
  return (
    <section className={kind === "needs_you" && cards.length > 0 ? "col c-wait" : "col"} aria-label={name}>
      <h2>
        {mark !== null && <span className={`st st-${mark}`} aria-hidden="true" />}
        <span className="clip" title={kind === "project" ? group.key : undefined}>
          {name}
        </span>{" "}
        <span className="n">{cards.length}</span>
        {kind === "needs_you" && cards.length > 1 && <span className="meta">longest first</span>}
      </h2>
      {cards.length === 0 && (
        <p className="nobody">{kind === "needs_you" ? "Nobody waits for you." : "None."}</p>
      )}
      {cards.map((card) =>
        card.column === "done" ? (
          <Done
            key={card.session_id}
            card={card}
            current={card.session_id === current}
            mixed={kind === "project"}
          />
        ) : (
          <Card
            key={card.session_id}
            card={card}
            current={card.session_id === current}
            mixed={kind === "project"}
          />
        ),
      )}
    </section>
  );
}
