/** Mission control: who needs you, who works, and who is done. */

import "@/styles/mission-control.css";

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useLocation, useSearch } from "wouter";

import { boardQuery } from "@/api/board";
import type { Board, BoardCard } from "@/api/board";
import { useTeam } from "@/state/use-me";
import { useTitle } from "@/features/shell/use-title";
import { BOARD_GROUPINGS, missionControlPath, parseBoard } from "@/lib/routes";
import type { BoardState, Grouping } from "@/lib/routes";
import { cardsOfToday, describeBoard, groupCards, listOwners, narrowCards } from "@/state/board";
import type { BoardGroup } from "@/state/board";
import { Segments } from "@/ui/controls";
import { Pick } from "@/ui/pick";
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

function Live({ board, cards: all }: { readonly board: Board; readonly cards: readonly BoardCard[] }) {
  const search = useSearch();
  const state = useMemo(() => parseBoard(search), [search]);
  const team = useTeam() !== null;
  // Where there is only one person, there is nothing to divide by.
  const by: Grouping = team || state.by === "project" ? state.by : "state";
  const cards = useMemo(() => (team ? narrowCards(all, state) : all), [all, team, state]);
  const [, navigate] = useLocation();
  const change = (part: Partial<BoardState>) => {
    navigate(missionControlPath({ ...state, by, ...part }), { replace: true });
  };
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
        {team && <Owners cards={all} state={state} onChange={change} />}
        <NotifyControls
          onOpen={() => {
            setSheet(true);
          }}
        />
        <Segments
          label="Group by"
          options={(Object.entries(BOARD_GROUPINGS) as [Grouping, string][]).filter(
            ([value]) => team || value === "state" || value === "project",
          )}
          value={by}
          onChange={(value) => {
            change({ by: value });
          }}
        />
      </div>
      <div className="board" data-by={by}>
        {groups.map((group) => (
          <Column key={group.key} group={group} current={current} team={team} />
        ))}
      </div>
      {byFilesAlone > 0 && (
        <p className="mc-hint meta">
          {byFilesAlone === 1 ? "One of these is" : `${byFilesAlone} of these are`} inferred from the file
          alone; <code>turnlog hooks install</code> reports at once when a session waits, and why.
        </p>
      )}
      <Lanes board={board} shown={cards === all ? null : cards} />
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

interface OwnersProps {
  readonly cards: readonly BoardCard[];
  readonly state: BoardState;
  readonly onChange: (part: Partial<BoardState>) => void;
}

/** Whose sessions are shown, and from where. */
function Owners({ cards, state, onChange }: OwnersProps) {
  const { persons, machines } = useMemo(() => listOwners(cards), [cards]);
  return (
    <>
      <Pick
        label="Person"
        all="Everyone"
        options={persons}
        value={state.person}
        onPick={(person) => {
          onChange({ person });
        }}
      />
      <Pick
        label="Machine"
        all="All machines"
        options={machines}
        value={state.machine}
        onPick={(machine) => {
          onChange({ machine });
        }}
      />
    </>
  );
}

/** What puts a session in a column. */
const MEANINGS = {
  needs_you:
    "In the middle of its work, it waits for you: a permission, an answer, a plan; or an error stopped it.",
  working: "It works on its own.",
  done: "Its turn ended, or the session did. Nothing that it began waits for you; the next prompt is yours.",
} as const;

const NOBODY: Partial<Record<BoardGroup["kind"], string>> = {
  needs_you: "No session is waiting for you.",
  done: MEANINGS.done,
};

const MARKS = { needs_you: "wait", working: "work", done: "done" } as const;

/** A column without cards is quiet. */
function markOf({ kind, cards }: BoardGroup): string | null {
  if (kind !== "needs_you" && kind !== "working" && kind !== "done") return null;
  return cards.length === 0 ? "idle" : MARKS[kind];
}

function titleOf({ kind, key }: BoardGroup): string | undefined {
  if (kind === "needs_you" || kind === "working" || kind === "done") return MEANINGS[kind];
  return kind === "project" || kind === "machine" ? key : undefined;
}

interface ColumnProps {
  readonly group: BoardGroup;
  readonly current: string | null;
  readonly team: boolean;
}

function Column({ group, current, team }: ColumnProps) {
  const { kind, name, cards } = group;
  const mark = markOf(group);
  const mixed = mark === null;
  const project = kind !== "project";
  return (
    <section className={kind === "needs_you" && cards.length > 0 ? "col c-wait" : "col"} aria-label={name}>
      <h2>
        {mark !== null && <span className={`st st-${mark}`} aria-hidden="true" />}
        <span className="clip" title={titleOf(group)}>
          {name}
        </span>{" "}
        <span className="n">{cards.length}</span>
        {kind === "needs_you" && cards.length > 1 && <span className="meta">longest first</span>}
      </h2>
      {cards.length === 0 && <p className="nobody">{NOBODY[kind] ?? "None."}</p>}
      {cards.map((card) =>
        card.column === "done" ? (
          <Done
            key={card.session_id}
            card={card}
            current={card.session_id === current}
            {...{ mixed, project, team }}
          />
        ) : (
          <Card
            key={card.session_id}
            card={card}
            current={card.session_id === current}
            {...{ mixed, project, team }}
          />
        ),
      )}
    </section>
  );
}
