/** The time of now, in the server's reckoning; it ticks only while somebody looks at it. */

const TICK_MS = 1000;
/** Clocks of one machine never differ so much; what an answer takes on its way does not count. */
const TRUSTED_MS = 3000;

let skew = 0;
let timer: ReturnType<typeof setInterval> | null = null;
let current = Date.now();
const listeners = new Set<() => void>();

/** Learns from an answer what time it is at the server. */
export function noteServerTime(time: string): void {
  const difference = Date.parse(time) - Date.now();
  skew = Math.abs(difference) > TRUSTED_MS ? difference : 0;
}

/** The same value until the next tick, so that everything on the page agrees. */
export function readClock(): number {
  if (timer === null) current = Date.now() + skew;
  return current;
}

export function subscribeClock(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

function tick(): void {
  if (document.hidden) return;
  current = Date.now() + skew;
  for (const listener of [...listeners]) listener();
}
