/**
 * One stream for all tabs of a browser.
 *
 * The tab that holds the lock leads: it has the stream, and passes on what it hears. When it is closed the browser
 * gives the lock to another one, which goes on from the last event that it was told of. Where a browser knows no
 * locks, each tab has a stream of its own.
 */

import type { LiveEvent, LiveStatus, OpenLive } from "@/api/live";

import { Line } from "./line";
import type { LineListener } from "./line";

export interface SharingListener extends LineListener {
  /** The stream is open, and nothing is known of what came before. */
  readonly onFresh: () => void;
}

const NAME = "turnlog.live";

/** What tabs say to each other. */
type Said =
  | { readonly kind: "event"; readonly event: LiveEvent }
  | { readonly kind: "status"; readonly status: LiveStatus; readonly last: string | null }
  /** A tab that has just come asks how things are. */
  | { readonly kind: "who" }
  /** The server is back, as some tab has found out. */
  | { readonly kind: "poke" };

export type Locks = Pick<LockManager, "request">;
export type Channel = Pick<BroadcastChannel, "postMessage" | "close" | "onmessage">;

export interface SharingParts {
  readonly open: OpenLive;
  readonly locks: Locks | null;
  /** Made when it is needed: an open channel is heard of by others. */
  readonly channel: (() => Channel) | null;
}

export class SharedStream {
  readonly #listener: SharingListener;
  readonly #locks: Locks | null;
  readonly #channel: (() => Channel) | null;
  readonly #line: Line;
  readonly #over = new AbortController();
  #tabs: Channel | null = null;
  #leads = false;
  #status: LiveStatus = "connecting";
  #last: string | null = null;

  constructor({ open, locks, channel }: SharingParts, listener: SharingListener) {
    this.#listener = listener;
    this.#locks = locks;
    this.#channel = channel;
    this.#line = new Line(open, {
      onEvent: (event) => {
        this.#take(event);
        this.#say({ kind: "event", event });
      },
      onStatus: (status) => {
        this.#turn(status);
        this.#say({ kind: "status", status, last: this.#last });
      },
    });
  }

  /** Whether this tab has the stream. */
  get leads(): boolean {
    return this.#leads;
  }

  start(): void {
    if (this.#locks === null || this.#channel === null) {
      this.#lead();
      return;
    }
    this.#tabs = this.#channel();
    this.#tabs.onmessage = (message: MessageEvent<Said>) => {
      this.#hear(message.data);
    };
    this.#say({ kind: "who" });
    const { signal } = this.#over;
    this.#locks
      .request(NAME, { signal }, () => {
        this.#lead();
        return new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => {
            resolve();
          });
        });
      })
      .catch(() => undefined); // Given up while it waited.
  }

  stop(): void {
    this.#over.abort();
    this.#line.stop();
    this.#tabs?.close();
  }

  /** Somebody knows that the server is there: whoever leads tries now. */
  poke(): void {
    if (this.#leads) this.#line.poke();
    else this.#say({ kind: "poke" });
  }

  #lead(): void {
    if (this.#over.signal.aborted) return;
    this.#leads = true;
    this.#line.start(this.#last);
  }

  #hear(said: Said): void {
    if (said.kind === "who") {
      if (this.#leads) this.#say({ kind: "status", status: this.#status, last: this.#last });
    } else if (said.kind === "poke") {
      if (this.#leads) this.#line.poke();
    } else if (this.#leads) {
      // A leader that was given up on speaks once more; its last words are told by the stream as well.
    } else if (said.kind === "event") this.#take(said.event);
    else {
      this.#last = said.last ?? this.#last;
      this.#turn(said.status);
    }
  }

  #take(event: LiveEvent): void {
    if (event.type === "hello") {
      if (this.#leads && this.#last === null) this.#listener.onFresh();
      this.#last ??= event.id;
    } else if ("id" in event) this.#last = event.id;
    this.#listener.onEvent(event);
  }

  #turn(status: LiveStatus): void {
    this.#status = status;
    this.#listener.onStatus(status);
  }

  #say(said: Said): void {
    this.#tabs?.postMessage(said);
  }
}
