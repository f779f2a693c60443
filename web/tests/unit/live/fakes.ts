/** A stream that a test speaks for, and tabs of one browser. */

import type { LiveEvent, LiveListener, OpenLive } from "@/api/live";
import type { Channel, Locks } from "@/state/live/sharing";

export class FakeStreams {
  /** What each stream that was opened went on from. */
  readonly opened: (string | null)[] = [];
  #listeners: LiveListener[] = [];

  readonly open: OpenLive = (after, listener) => {
    this.opened.push(after);
    this.#listeners.push(listener);
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  };

  get count(): number {
    return this.#listeners.length;
  }

  say(event: LiveEvent): void {
    for (const listener of [...this.#listeners]) listener.onEvent(event);
  }

  cut(): void {
    const lost = this.#listeners;
    this.#listeners = [];
    for (const listener of lost) listener.onLost();
  }
}

/** Locks and a channel, as the tabs of one browser have them. */
export class FakeBrowser {
  readonly #waiting: (() => Promise<unknown>)[] = [];
  readonly #channels = new Set<Channel>();
  #held = false;

  get locks(): Locks {
    const request = (_name: string, options: { signal: AbortSignal }, work: () => Promise<unknown>) =>
      new Promise<void>((resolve) => {
        this.#waiting.push(async () => {
          if (options.signal.aborted) return;
          await work();
          resolve();
        });
        void this.#give();
      });
    return { request } as unknown as Locks;
  }

  readonly channel = (): Channel => {
    const channel: Channel = {
      onmessage: null,
      postMessage: (data: unknown) => {
        for (const other of [...this.#channels])
          if (other !== channel) other.onmessage?.call(other as BroadcastChannel, { data } as MessageEvent);
      },
      close: () => {
        this.#channels.delete(channel);
      },
    };
    this.#channels.add(channel);
    return channel;
  };

  async #give(): Promise<void> {
    if (this.#held) return;
    this.#held = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await next();
    this.#held = false;
  }
}
