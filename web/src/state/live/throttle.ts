/** Does a thing at once, and if it is asked for again, once more after a while; each name by itself. */
export class Throttle {
  readonly #under = new Map<string, { again: (() => void) | null }>();

  run(name: string, everyMs: number, what: () => void): void {
    const pending = this.#under.get(name);
    if (pending) {
      pending.again = what;
      return;
    }
    what();
    const entry: { again: (() => void) | null } = { again: null };
    this.#under.set(name, entry);
    setTimeout(() => {
      this.#under.delete(name);
      if (entry.again) this.run(name, everyMs, entry.again);
    }, everyMs);
  }
}
