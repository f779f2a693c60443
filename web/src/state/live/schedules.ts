/** When news are told: with the next frame; and in a tab that nobody looks at, rarely or not at all. */

import type { Schedule } from "./batches";

const HIDDEN_MS = 1000;

const withFrame: Schedule = (run) => {
  const frame = requestAnimationFrame(run);
  return () => {
    cancelAnimationFrame(frame);
  };
};

/** With the next frame that is seen: a hidden tab is told everything at once when it is looked at. */
export const whenSeen: Schedule = (run) => {
  if (!document.hidden) return withFrame(run);
  let cancel = () => {
    document.removeEventListener("visibilitychange", look);
  };
  const look = () => {
    if (document.hidden) return;
    document.removeEventListener("visibilitychange", look);
    cancel = withFrame(run);
  };
  document.addEventListener("visibilitychange", look);
  return () => {
    cancel();
  };
};

/** Also in a hidden tab, but then once in a second at most. */
export const evenHidden: Schedule = (run) => {
  if (!document.hidden) return withFrame(run);
  const timer = setTimeout(run, HIDDEN_MS);
  return () => {
    clearTimeout(timer);
  };
};
