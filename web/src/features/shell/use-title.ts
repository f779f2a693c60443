import { useEffect } from "react";

/** The title of the tab: what is shown, then turnlog. */
export function useTitle(...parts: readonly (string | null | undefined)[]): void {
  const title = [...parts.filter(Boolean), "turnlog"].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
