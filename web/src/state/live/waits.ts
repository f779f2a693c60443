/**
 * Which sessions have just begun to wait, and telling of it once.
 *
 * Every tab that is looked at knows of them. A notification of the desktop comes only from the tab that leads, and only if
 * it was asked for; what was told of is kept in the browser, so that no other tab tells it again.
 */

import type { Query, QueryClient } from "@tanstack/react-query";

import { boardQuery } from "@/api/board";
import type { Board, BoardCard } from "@/api/board";
import { createStore } from "@/lib/store";
import { keptStore } from "@/state/settings";

import type { Live } from "./live";
import { Throttle } from "./throttle";

const CHOICE = "turnlog.tell-waits";
const TOLD = "turnlog.told-waits";
const MOST_TOLD = 200;
const ASK_EVERY_MS = 500;

/** Whether the reader wants to be told by the desktop. */
export const tellsWaits = keptStore(CHOICE, ["off", "on"], "off");

/** The waits that began while this tab was open, and that nobody has looked at yet; the newest last. */
export const freshWaits = createStore<readonly BoardCard[]>([]);

/** A wait is a session and when it began: the same session may wait again. */
export function waitKey(card: BoardCard): string {
  return `${card.session_id}@${card.since ?? ""}`;
}

/** The waits that began after `since` and are not known yet. */
export function newWaits(board: Board, since: string, known: ReadonlySet<string>): BoardCard[] {
  return board.sessions.filter(
    (card) =>
      card.column === "needs_you" &&
      card.since !== null &&
      Date.parse(card.since) > Date.parse(since) &&
      !known.has(waitKey(card)),
  );
}

/** Watches the board; `notify` shows a notification. Returns how to stop. */
export function watchWaits(client: QueryClient, live: Live, notify: (card: BoardCard) => void): () => void {
  const throttle = new Throttle();
  const known = new Set<string>();
  let began: string | null = null;

  const look = (board: Board) => {
    began ??= board.at;
    const fresh = newWaits(board, began, known);
    for (const card of fresh) known.add(waitKey(card));
    keepFresh(board, fresh);
    if (fresh.length === 0 || !live.leads || tellsWaits.get() === "off") return;
    const told = readTold();
    const untold = fresh.filter((card) => !told.includes(waitKey(card)));
    writeTold([...told, ...untold.map(waitKey)]);
    for (const card of untold) notify(card);
  };
  const ask = () => {
    throttle.run("board", ASK_EVERY_MS, () => {
      void client.query({ ...boardQuery(), staleTime: 0 }).catch(() => null);
    });
  };
  const stops = [
    client.getQueryCache().subscribe((event) => {
      if (event.type !== "updated" || event.action.type !== "success") return;
      const query = event.query as Query;
      if (query.queryKey[0] === "mission-control") look(query.state.data as Board);
    }),
    live.subscribeBehind((news) => {
      // A tab that nobody looks at has to know only if it speaks for all.
      if (document.hidden && !live.leads) return;
      const waits = freshWaits.get().map((card) => card.session_id);
      const moved = news.states.some(
        (state) => state.column === "needs_you" || waits.includes(state.session_id),
      );
      if (moved || news.reset) ask();
    }),
    followChoice(),
  ];
  // What waits already is nothing new: one has to know it to tell what is.
  ask();
  return () => {
    for (const stop of stops) stop();
  };
}

/** Takes those out that do not wait any more. */
function keepFresh(board: Board, fresh: readonly BoardCard[]): void {
  const waiting = new Set(board.sessions.filter((card) => card.column === "needs_you").map(waitKey));
  const before = freshWaits.get();
  const after = [...before.filter((card) => waiting.has(waitKey(card))), ...fresh];
  if (after.length !== before.length || fresh.length > 0) freshWaits.set(after);
}

/** The choice counts in all tabs. */
function followChoice(): () => void {
  const follow = (event: StorageEvent) => {
    if (event.key === CHOICE) tellsWaits.set(event.newValue === "on" ? "on" : "off");
  };
  window.addEventListener("storage", follow);
  return () => {
    window.removeEventListener("storage", follow);
  };
}

function readTold(): readonly string[] {
  try {
    const told: unknown = JSON.parse(localStorage.getItem(TOLD) ?? "[]");
    return Array.isArray(told) ? told.filter((key) => typeof key === "string") : [];
  } catch {
    return []; // Nothing is kept, or not by us.
  }
}

function writeTold(told: readonly string[]): void {
  try {
    localStorage.setItem(TOLD, JSON.stringify(told.slice(-MOST_TOLD)));
  } catch {
    // Storage may be forbidden; then another tab may tell it once more.
  }
}
