/**
 * The actions of a session, page by page as one scrolls, and kept up while the session goes on.
 *
 * A session may have 100,000 of them. When it changes, only those pages are asked for again that can have changed:
 * the last one, and those with something that was not over yet.
 */

import type { Action, ActionPage } from "@/api/actions";
import { createStore } from "@/lib/store";
import type { Store } from "@/lib/store";

export interface LogState {
  readonly items: readonly Action[];
  /** What is known of all of them, with the first page. */
  readonly total: number;
  readonly counts: ActionPage["counts"];
  readonly names: ActionPage["names"];
  readonly failed: number;
  readonly overview: ActionPage["overview"];
  /** Whether these are all. */
  readonly complete: boolean;
  readonly status: "opening" | "open" | "failed";
  readonly error: Error | null;
}

interface KeptPage {
  readonly cursor: string | null;
  readonly page: ActionPage;
}

export type LoadActions = (cursor: string | null, signal: AbortSignal) => Promise<ActionPage>;

/** Of those that were not over, so many pages are asked for again at once; the others with the next change. */
const MOST_PAGES = 6;
const OPEN = new Set<Action["state"]>(["running", "waiting"]);

const NOTHING: LogState = {
  items: [],
  total: 0,
  counts: {},
  names: {},
  failed: 0,
  overview: [],
  complete: false,
  status: "opening",
  error: null,
};

export class ActionLog {
  readonly state: Store<LogState> = createStore<LogState>(NOTHING);
  readonly #load: LoadActions;
  readonly #inOrder: boolean;
  readonly #over = new AbortController();
  #pages: readonly KeptPage[] = [];
  #busy: Promise<void> | null = null;
  #again = false;

  constructor(load: LoadActions, inOrder: boolean) {
    this.#load = load;
    this.#inOrder = inOrder;
  }

  /** Loads the first page, or the next one; one at a time. */
  more(): Promise<void> {
    if (this.#pages.at(-1)?.page.next === null) return Promise.resolve();
    return this.#alone(async () => {
      const cursor = this.#pages.at(-1)?.page.next ?? null;
      const page = await this.#load(cursor, this.#over.signal);
      return () => {
        this.#keep([...this.#pages, { cursor, page }], page);
      };
    });
  }

  /** Something of the session changed. */
  refresh(): Promise<void> {
    this.#again = true;
    return this.#alone(async () => {
      this.#again = false;
      return this.#reload();
    });
  }

  /** Forgets that loading failed, and tries again. */
  retry(): Promise<void> {
    this.state.set((state) => ({ ...state, error: null, status: this.#pages.length > 0 ? "open" : "opening" }));
    return this.#pages.length > 0 ? this.refresh() : this.more();
  }

  close(): void {
    this.#over.abort();
  }

  async #reload(): Promise<() => void> {
    const kept = this.#inOrder ? this.#pages : this.#pages.slice(0, 1);
    let newest: ActionPage | null = null;
    const pages = [...kept];
    for (const at of stale(kept)) {
      const old = kept[at];
      if (!old) continue;
      newest = await this.#load(old.cursor, this.#over.signal);
      pages[at] = { cursor: old.cursor, page: newest };
    }
    return () => {
      if (newest) this.#keep(pages, newest);
    };
  }

  /** One thing at a time. What was loaded is kept when that is over, so that whoever hears of it can ask for more. */
  async #alone(work: () => Promise<() => void>): Promise<void> {
    if (this.#busy) return this.#busy;
    this.#busy = this.#run(work);
    await this.#busy;
    // What changed while a page came in has to be looked at, too.
    if (this.#again && this.state.get().error === null && !this.#over.signal.aborted) await this.refresh();
  }

  async #run(work: () => Promise<() => void>): Promise<void> {
    try {
      const keep = await work();
      this.#busy = null;
      keep();
    } catch (error) {
      this.#busy = null;
      this.#fail(error);
    }
  }

  #keep(pages: readonly KeptPage[], { total, counts, names, failed, overview }: ActionPage): void {
    if (this.#over.signal.aborted) return;
    this.#pages = pages;
    const items = pages.flatMap(({ page }) => page.items);
    this.state.set({
      items,
      total: Math.max(total, items.length),
      counts,
      names,
      failed,
      overview,
      complete: pages.at(-1)?.page.next === null,
      status: "open",
      error: null,
    });
  }

  #fail(error: unknown): void {
    if (this.#over.signal.aborted) return;
    this.#again = false;
    const cause = error instanceof Error ? error : new Error(String(error));
    this.state.set((state) => ({
      ...state,
      status: state.items.length > 0 ? "open" : "failed",
      error: cause,
    }));
  }
}

/** Which pages may have changed: those with something under way, and the last. */
function stale(pages: readonly KeptPage[]): number[] {
  const open = pages.flatMap(({ page }, at) => (page.items.some((item) => OPEN.has(item.state)) ? [at] : []));
  const last = pages.length - 1;
  return [...new Set([...open.slice(-MOST_PAGES), last])].filter((at) => at >= 0).sort((a, b) => a - b);
}
