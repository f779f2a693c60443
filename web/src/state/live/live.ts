/**
 * What changes on the server, told to whoever asks. Plain TypeScript; `use-live.ts` binds React to it.
 *
 * `subscribe` is for a page that shows one session, `subscribeAll` for one that shows many. Both are told once a
 * frame at most, and in a hidden tab only when it is looked at again. `refresh.ts` keeps the queries up by itself.
 */

import { checkHealth, connection } from "@/api/connection";
import { liveStatus, openLive } from "@/api/live";
import type { LiveEvent, LiveStatus } from "@/api/live";
import { SHARED } from "@/lib/routes";
import type { Store } from "@/lib/store";

import { Batcher } from "./batches";
import type { News, Schedule } from "./batches";
import { evenHidden, whenSeen } from "./schedules";
import { SharedStream } from "./sharing";
import type { SharingParts } from "./sharing";

export type NewsListener = (news: News) => void;

export class Live {
  readonly status: Store<LiveStatus> = liveStatus;
  readonly #stream: SharedStream;
  readonly #seen: Batcher;
  readonly #behind: Batcher;
  readonly #listeners = new Set<NewsListener>();
  readonly #background = new Set<NewsListener>();
  readonly #fresh = new Set<() => void>();

  constructor(parts: SharingParts, seen: Schedule, behind: Schedule) {
    this.#stream = new SharedStream(parts, {
      onEvent: (event) => {
        this.#hear(event);
      },
      onStatus: (status) => {
        this.#turn(status);
      },
      onFresh: () => {
        for (const listener of [...this.#fresh]) listener();
      },
    });
    this.#seen = new Batcher(seen, tell(this.#listeners));
    this.#behind = new Batcher(behind, tell(this.#background));
  }

  /** Whether this tab speaks for all tabs of the browser. */
  get leads(): boolean {
    return this.#stream.leads;
  }

  start(): void {
    this.#stream.start();
    connection.subscribe(() => {
      if (connection.get() === "ok" && liveStatus.get() !== "open") this.#stream.poke();
    });
  }

  stop(): void {
    this.#stream.stop();
  }

  /** Of one session, by its key or its id; `reset` concerns every session. */
  subscribe(session: string, listener: NewsListener): () => void {
    return this.subscribeAll((news) => {
      const changes = news.changes.filter(
        (change) => change.session === session || change.session_id === session,
      );
      const states = news.states.filter((state) => state.session_id === session);
      if (changes.length > 0 || states.length > 0 || news.reset) listener({ ...news, changes, states });
    });
  }

  subscribeAll(listener: NewsListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Also while the tab is hidden, then once in a second; for what one hears or sees from outside of the tab. */
  subscribeBehind(listener: NewsListener): () => void {
    this.#background.add(listener);
    return () => this.#background.delete(listener);
  }

  /** When a stream was opened that nothing came before: what was loaded earlier may be old. */
  onFresh(listener: () => void): () => void {
    this.#fresh.add(listener);
    return () => this.#fresh.delete(listener);
  }

  #hear(event: LiveEvent): void {
    this.#seen.add(event);
    this.#behind.add(event);
  }

  #turn(status: LiveStatus): void {
    liveStatus.set(status);
    // A stream may also be refused; only if nothing answers, the server is gone.
    if (status === "lost") void checkHealth();
  }
}

function tell(listeners: ReadonlySet<NewsListener>): NewsListener {
  return (news) => {
    for (const listener of [...listeners]) listener(news);
  };
}

export const live = new Live(
  {
    open: openLive,
    // Who was let in by a link is told of one session, and tells nobody else.
    locks: !SHARED && typeof navigator === "object" && "locks" in navigator ? navigator.locks : null,
    channel: typeof BroadcastChannel === "function" ? () => new BroadcastChannel("turnlog.live") : null,
  },
  whenSeen,
  evenHidden,
);
