import { useLayoutEffect } from "react";
import type { RefObject } from "react";

/** Where a plot is wider than its place, its newest end is in sight. */
export function useEndInSight(box: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    box.current?.scrollTo({ left: box.current.scrollWidth });
  }, [box]);
}
