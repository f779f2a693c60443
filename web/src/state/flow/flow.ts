/** Loads a conversation where it is looked at: windows around a place, and on from there in both directions. */

import type { WindowRequest } from "@/api/client";
import type { FlowWindow } from "@/api/conversation";
import type { HookItem, Message, NoteItem } from "@/api/types";
import { createStore } from "@/lib/store";
import type { Store } from "@/lib/store";

import { countLoaded, findMessage, indexInGap, insertWindow, keepOnly } from "./layout";
import type { Gap, Layout } from "./layout";

export interface FlowState {
  readonly layout: Layout;
  readonly total: number;
  /** Hook events by the index of the message that they stand under. */
  readonly hooks: ReadonlyMap<number, readonly HookItem[]>;
  /** What happened between messages, in the same way. */
  readonly notes: ReadonlyMap<number, readonly NoteItem[]>;
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
) => Promise<FlowWindow>;

interface UnderWay {
  readonly name: string;
  readonly asked: boolean;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

const MOST_LOADED = 1600;
const KEPT_AROUND = 500;
/** So far before its end a conversation may still change: results come in, agents go on. */
const TAIL = 20;

export class Flow {
  readonly state: Store<FlowState> = createStore<FlowState>({
    layout: [],
    total: 0,
    hooks: new Map(),
    notes: new Map(),
    source: null,
    status: "opening",
    error: null,
  });
  readonly #load: LoadWindow;
  #underWay: UnderWay | null = null;

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

  /** Loads the last messages; how many there are is known only when some are here. */
  async openEnd(): Promise<void> {
    if (this.state.get().layout.length === 0) await this.#bring({ first: true }, true);
    const { layout, total } = this.state.get();
    if (layout.at(-1)?.kind === "gap") await this.#bring({ around: total - 1 }, true);
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

  /**
   * The conversation may have grown, and what was written last may have changed: its end is loaded anew if one has
   * it; else it is only told how long it is by now.
   */
  async refresh(): Promise<void> {
    await this.#underWay?.done;
    const { layout, total } = this.state.get();
    const end = layout.at(-1);
    if (!end) await this.#bring({ first: true });
    else if (end.kind === "stretch") await this.#bring({ around: Math.max(0, end.last - TAIL) });
    else await this.#bring({ around: total - 1 });
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
  #bring(which: WindowRequest, asked = false): Promise<void> {
    const name = JSON.stringify(which);
    if (this.#underWay?.name === name) return this.#underWay.done;
    if (this.#underWay?.asked && !asked) return Promise.resolve();
    this.#underWay?.abort.abort();
    const abort = new AbortController();
    const done = this.#fetch(which, abort);
    this.#underWay = { name, asked, abort, done };
    return done;
  }

  async #fetch(which: WindowRequest, abort: AbortController): Promise<void> {
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

  #put(window: FlowWindow): void {
    this.state.set((state) => {
      const source = window.items[0]?.source ?? state.source;
      // A uuid may lead to another file, whose messages are numbered from 0 as well.
      const same = source === state.source;
      return {
        layout: insertWindow(same ? state.layout : [], window),
        total: window.total,
        hooks: placeUnder(same ? state.hooks : new Map<number, readonly HookItem[]>(), window, window.hooks),
        notes: placeUnder(same ? state.notes : new Map<number, readonly NoteItem[]>(), window, window.notes),
        source,
        status: "open",
        error: null,
      };
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

/** Puts those of a window in their places; those of its messages that were there before are replaced. */
function placeUnder<T extends { readonly message: number | null }>(
  before: ReadonlyMap<number, readonly T[]>,
  { items }: FlowWindow,
  placed: readonly T[] = [],
): ReadonlyMap<number, readonly T[]> {
  const shown = new Set(items.map((message) => message.index));
  const stale = [...before.keys()].some((index) => shown.has(index));
  if (!stale && placed.length === 0) return before;
  const after = new Map([...before].filter(([index]) => !shown.has(index)));
  for (const each of placed) {
    if (each.message !== null) after.set(each.message, [...(after.get(each.message) ?? []), each]);
  }
  return after;
}
