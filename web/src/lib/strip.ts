/** A strip: one bar for each call, its height the time it took (log); only failures reach the top. Pure. */

export interface Bar {
  readonly ms: number | null;
  readonly failed: boolean;
  readonly category: string;
}

export const STRIP_HEIGHT = 14;
const LEAST = 3;
const MOST = 11;
const SHORT_MS = 50;
const LONG_MS = 60_000;

/** In pixels, of `STRIP_HEIGHT`. */
export function barHeight({ ms, failed }: Bar): number {
  if (failed) return STRIP_HEIGHT;
  return Math.round(LEAST + (MOST - LEAST) * logPart(ms, SHORT_MS, LONG_MS));
}

/** Where a time stands between two others on a logarithmic scale: 0 to 1. */
export function logPart(ms: number | null, shortest: number, longest: number): number {
  if (ms === null || ms <= shortest) return 0;
  return Math.min(1, Math.log(ms / shortest) / Math.log(longest / shortest));
}
