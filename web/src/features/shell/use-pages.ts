import { useMemo } from "react";

import { useTeam } from "@/state/use-me";

import { PAGES } from "./pages";
import type { Page } from "./pages";

/** The pages that are of use here: those about people only where there are accounts. */
export function usePages(): readonly Page[] {
  const team = useTeam() !== null;
  return useMemo(() => PAGES.filter((page) => team || !page.team), [team]);
}
