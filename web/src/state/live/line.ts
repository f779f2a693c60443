/** One stream kept open: when it ends it is opened again, on from the last event, after longer and longer pauses. */

import type { LiveEvent, LiveStatus, OpenLive } from "@/api/live";

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;
/** A stream that ends and opens again at once is no reason to worry anybody. */
const WORRY_AFTER = 2;

export interface LineListener {
  readonly onEvent: (event: LiveEvent) => void;
  readonly onStatus: (status: LiveStatus) => void;
}

export class Line {
  readonly #open: OpenLive;
  readonly #listener: LineListener;
  #last: string | null = null;
  #failures = 0;
  #close: (() => void) | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(open: OpenLive, listener: LineListener) {
    this.#open = open;
    this.#listener = listener;
  }

  /** Opens the stream; `after` is the last event that is known, from whomever. */
  start(after: string | null): void {
    this.#last = after;
    this.#failures = 0;
    this.#connect();
  }

  stop(): void {
    this.#drop();
    this.#close?.();
    this.#close = null;
  }

  /** Tries now, if it waits to try again: somebody knows that the server is back. */
  poke(): void {
    if (this.#timer === null) return;
    this.#drop();
    this.#connect();
  }

  #connect(): void {
    this.#timer = null;
    this.#close = this.#open(this.#last, { onEvent: this.#hear, onLost: this.#lose });
  }

  readonly #hear = (event: LiveEvent): void => {
    if (event.type === "hello") {
      this.#failures = 0;
      // Whoever goes on from an event is told the newest id first, and only then what came in between.
      this.#last ??= event.id;
      this.#listener.onStatus("open");
    } else if ("id" in event) {
      this.#last = event.id;
    }
    this.#listener.onEvent(event);
  };

  readonly #lose = (): void => {
    this.#close = null;
    this.#failures += 1;
    this.#listener.onStatus(this.#failures < WORRY_AFTER ? "connecting" : "lost");
    const pause = Math.min(FIRST_PAUSE * 2 ** (this.#failures - 1), LONGEST_PAUSE);
    this.#timer = setTimeout(() => {
      this.#connect();
    }, pause);
  };

  #drop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
