/** Loads a conversation where it is looked at: windows around a place, and on from there in both directions. */

import type { WindowRequest } from "@/api/client";
import type { Message, MessageWindow } from "@/api/types";
import { createStore } from "@/lib/store";
import type { Store } from "@/lib/store";

import { countLoaded, findMessage, indexInGap, insertWindow, keepOnly } from "./layout";
import type { Gap, Layout } from "./layout";

export interface FlowState {
  readonly layout: Layout;
  readonly total: number;
  /** The file whose messages these are: the transcript, or a sub-agent's own. */
  readonly source: string | null;
  readonly status: "opening" | "open" | "failed";
  readonly error: Error | null;
}

/** What is seen of a gap: heights from its top. */
export interface GapView {
  readonly gap: Gap;
  readonly top: number;
  readonly bottom: number;
}

/** `source` is the file that the flow is in; null until that is known, and where a uuid decides. */
export type LoadWindow = (
  which: WindowRequest,
  source: string | null,
  signal: AbortSignal,
) => Promise<MessageWindow>;

const MOST_LOADED = 1600;
const KEPT_AROUND = 500;

export class Flow {
  readonly state: Store<FlowState> = createStore<FlowState>({
    layout: [],
    total: 0,
    source: null,
    status: "opening",
    error: null,
  });
  readonly #load: LoadWindow;
  #underWay: { readonly name: string; readonly asked: boolean; readonly abort: AbortController } | null = null;

  constructor(load: LoadWindow) {
    this.#load = load;
  }

  /** Loads the messages around one, unless they are there; returns it, or null if there is no such message. */
  async open(target: string | number | null): Promise<Message | null> {
    const there = this.find(target);
    if (there) return there;
    await this.#bring(target === null ? { first: true } : { around: target }, true);
    return this.find(target);
  }

  find(target: string | number | null): Message | null {
    const { layout } = this.state.get();
    if (typeof target === "number") return findMessage(layout, target);
    if (target === null) return findMessage(layout, 0);
    for (const part of layout) {
      const found = part.kind === "stretch" && part.messages.find((message) => message.uuid === target);
      if (found) return found;
    }
    return null;
  }

  /** Fills what is seen of a gap: on from the stretch beside it if that is in sight, else where one looks. */
  reach({ gap, top, bottom }: GapView): Promise<void> {
    const { layout } = this.state.get();
    const at = layout.indexOf(gap);
    if (at < 0) return Promise.resolve();
    const above = layout[at - 1];
    const below = layout[at + 1];
    if (top <= 0 && above?.kind === "stretch") {
      return this.#bring(above.after === null ? { around: gap.first } : { after: above.after });
    }
    if (bottom >= gap.height && below?.kind === "stretch") {
      return this.#bring(below.before === null ? { around: gap.last } : { before: below.before });
    }
    return this.#bring({ around: indexInGap(gap, (top + bottom) / 2) });
  }

  /** Lets go of what is far from `first` to `last`, once there is much of it. */
  trim(first: number, last: number, measure: (first: number, last: number) => number): void {
    if (countLoaded(this.state.get().layout) <= MOST_LOADED) return;
    this.state.set((state) => ({
      ...state,
      layout: keepOnly(state.layout, first - KEPT_AROUND, last + KEPT_AROUND, measure),
    }));
  }

  /** Forgets that loading failed, so that it is tried again. */
  forgive(): void {
    this.state.set((state) => (state.error === null ? state : { ...state, error: null }));
  }

  close(): void {
    this.#underWay?.abort.abort();
    this.#underWay = null;
  }

  /**
   * One request at a time: the place that one looks at now counts, not those that were passed on the way.
   * What somebody asked for by name comes before what is merely in sight.
   */
  async #bring(which: WindowRequest, asked = false): Promise<void> {
    const name = JSON.stringify(which);
    if (this.#underWay?.name === name || (this.#underWay?.asked && !asked)) return;
    this.#underWay?.abort.abort();
    const abort = new AbortController();
    this.#underWay = { name, asked, abort };
    try {
      const anywhere = "around" in which && typeof which.around === "string";
      const window = await this.#load(which, anywhere ? null : this.state.get().source, abort.signal);
      if (!abort.signal.aborted) this.#put(window);
    } catch (error) {
      if (!abort.signal.aborted) this.#fail(error);
    } finally {
      this.#done(abort);
    }
  }

  /** The request is over; by then another may be under way, or none. */
  #done(abort: AbortController): void {
    if (this.#underWay?.abort === abort) this.#underWay = null;
  }

  #put(window: MessageWindow): void {
    this.state.set((state) => {
      const source = window.items[0]?.source ?? state.source;
      // A uuid may lead to another file, whose messages are numbered from 0 as well.
      const layout = source === state.source ? state.layout : [];
      return { layout: insertWindow(layout, window), total: window.total, source, status: "open", error: null };
    });
  }

  #fail(error: unknown): void {
    const cause = error instanceof Error ? error : new Error(String(error));
    this.state.set((state) => ({
      ...state,
      status: state.layout.length > 0 ? "open" : "failed",
      error: cause,
    }));
  }
}
