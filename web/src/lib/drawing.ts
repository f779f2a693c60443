/**
 * So much is drawn in one frame, and the rest in the next ones: nobody waits for what is long.
 *
 * Whoever wants to draw something heavy asks for it by weight. What is not granted at once waits for its turn, in the
 * order in which it was asked for.
 */

/** What a frame bears, in characters of Markdown. */
export const FRAME = 3500;

interface Waiting {
  readonly weight: number;
  readonly draw: () => void;
}

export class Drawing {
  readonly #frame: (then: () => void) => void;
  readonly #waiting = new Set<Waiting>();
  #left = FRAME;
  #asked = false;

  constructor(frame: (then: () => void) => void) {
    this.#frame = frame;
  }

  /** Whether it may be drawn now. What alone is too heavy for a frame has one to itself. */
  take(weight: number): boolean {
    this.#wake();
    const granted = this.#waiting.size === 0 && (weight <= this.#left || this.#left === FRAME);
    if (granted) this.#left -= weight;
    return granted;
  }

  /** Calls `draw` as soon as there is room for it; returns how to ask for it no longer. */
  wait(weight: number, draw: () => void): () => void {
    const waiting = { weight, draw };
    this.#waiting.add(waiting);
    this.#wake();
    return () => {
      this.#waiting.delete(waiting);
    };
  }

  #wake(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#frame(() => {
      this.#asked = false;
      this.#grant();
    });
  }

  #grant(): void {
    this.#left = FRAME;
    for (const waiting of this.#waiting) {
      if (waiting.weight > this.#left && this.#left !== FRAME) break;
      this.#left -= waiting.weight;
      this.#waiting.delete(waiting);
      waiting.draw();
    }
    if (this.#left !== FRAME || this.#waiting.size > 0) this.#wake();
  }
}

export const drawing = new Drawing((then) => requestAnimationFrame(then));
