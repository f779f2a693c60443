import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";

import { statusQuery } from "@/api/queries";
import { SHARED } from "@/lib/routes";

/** The title of the tab: how many sessions need you, what is shown, then turnlog. */
export function useTitle(...parts: readonly (string | null | undefined)[]): void {
  const needs =
    useQuery({ ...statusQuery(), enabled: !SHARED, select: (status) => status.needs_you }).data ?? 0;
  const count = needs > 0 && `${needs} ${needs === 1 ? "needs" : "need"} you`;
  const title = [count, ...parts, "turnlog"].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
