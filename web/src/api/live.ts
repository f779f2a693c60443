/** The server's stream of changes: one EventSource, what it says decoded, nothing remembered. */

import { BASE } from "@/lib/routes";
import { createStore } from "@/lib/store";

import type { BoardCard, ChangeKind, Status } from "./types";

/** That something changed, and where; never what it says. */
export interface LiveChange {
  readonly kind: ChangeKind;
  /** The session's key, or its id where it has no key yet. */
  readonly session: string;
  readonly session_id: string | null;
  readonly revision: number;
  readonly seq: number;
}

/** A session went to another column of the board. */
export interface LiveState {
  readonly session_id: string;
  readonly column: BoardCard["column"];
  readonly why: BoardCard["why"];
}

export type LiveEvent =
  /** The stream is open; what comes after `id` will be told. */
  | { readonly type: "hello"; readonly id: string }
  | { readonly type: "change"; readonly id: string; readonly change: LiveChange }
  | { readonly type: "state"; readonly state: LiveState }
  | { readonly type: "sync"; readonly sync: Status["sync"] }
  /** What happened in between is not known any more: everything may have changed. */
  | { readonly type: "reset"; readonly id: string };

/** `lost` once opening it again has failed. */
export type LiveStatus = "connecting" | "open" | "lost";

/** Whether this browser is told of changes; while it is not, pages ask by themselves. */
export const liveStatus = createStore<LiveStatus>("connecting");

export interface LiveListener {
  readonly onEvent: (event: LiveEvent) => void;
  /** It ended, or could not be opened; nothing more is heard of it. */
  readonly onLost: () => void;
}

export type OpenLive = (after: string | null, listener: LiveListener) => () => void;

/** Opens the stream, on from the event `after`; returns how to close it. */
export const openLive: OpenLive = (after, { onEvent, onLost }) => {
  const query = after === null ? "" : `?last_event_id=${encodeURIComponent(after)}`;
  const source = new EventSource(`${BASE}/api/live${query}`);
  for (const [type, read] of Object.entries(READERS)) {
    source.addEventListener(type, (event: MessageEvent<string>) => {
      onEvent(read(event.lastEventId, event.data));
    });
  }
  // The browser would try again by itself, but neither tell nor ever let go of an old id.
  source.addEventListener("error", () => {
    source.close();
    onLost();
  });
  return () => {
    source.close();
  };
};

const READERS: Readonly<Record<LiveEvent["type"], (id: string, data: string) => LiveEvent>> = {
  hello: (id) => ({ type: "hello", id }),
  change: (id, data) => ({ type: "change", id, change: JSON.parse(data) as LiveChange }),
  state: (_id, data) => ({ type: "state", state: JSON.parse(data) as LiveState }),
  sync: (_id, data) => ({ type: "sync", sync: JSON.parse(data) as Status["sync"] }),
  reset: (id) => ({ type: "reset", id }),
};
