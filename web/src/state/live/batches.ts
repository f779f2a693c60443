/** Many events become one piece of news: of each session the newest change of each kind. Pure, but for the schedule. */

import type { LiveChange, LiveEvent, LiveState } from "@/api/live";
import type { Status } from "@/api/types";

/** What has happened since the last time. */
export interface News {
  readonly changes: readonly LiveChange[];
  /** Of each session that went to another column, where it is now. */
  readonly states: readonly LiveState[];
  readonly sync: Status["sync"] | null;
  /** Everything may have changed: what came in between is not known. */
  readonly reset: boolean;
}

/** Runs something later; returns how to call it off. */
export type Schedule = (run: () => void) => () => void;

export class Batcher {
  readonly #schedule: Schedule;
  readonly #deliver: (news: News) => void;
  readonly #changes = new Map<string, LiveChange>();
  readonly #states = new Map<string, LiveState>();
  #sync: Status["sync"] | null = null;
  #reset = false;
  #cancel: (() => void) | null = null;

  constructor(schedule: Schedule, deliver: (news: News) => void) {
    this.#schedule = schedule;
    this.#deliver = deliver;
  }

  add(event: LiveEvent): void {
    switch (event.type) {
      case "change": {
        const key = `${event.change.kind} ${event.change.session}`;
        // Newest last: what was put in earlier keeps its place in a map.
        this.#changes.delete(key);
        this.#changes.set(key, event.change);
        break;
      }
      case "state":
        this.#states.set(event.state.session_id, event.state);
        break;
      case "sync":
        this.#sync = event.sync;
        break;
      case "reset":
        this.#reset = true;
        break;
      case "hello":
        return;
    }
    this.#cancel ??= this.#schedule(() => {
      this.flush();
    });
  }

  /** Tells what has gathered, now. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const news: News = {
      changes: [...this.#changes.values()],
      states: [...this.#states.values()],
      sync: this.#sync,
      reset: this.#reset,
    };
    this.#changes.clear();
    this.#states.clear();
    this.#sync = null;
    this.#reset = false;
    this.#deliver(news);
  }
}
