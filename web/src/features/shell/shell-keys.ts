/** Keys that count on every page. */

import { useCallback, useMemo, useState } from "react";
import { useLocation } from "wouter";

import type { Binding } from "@/state/keys";
import { keyLine } from "@/state/settings";
import { useKeys } from "@/state/use-keys";

import { PAGES } from "./pages";
import { SEARCH_FIELD } from "./search-field";

export function useShellKeys() {
  const [helpOpen, setHelpOpen] = useState(false);
  const [, navigate] = useLocation();
  const table = useMemo<readonly Binding[]>(
    () => [
      {
        keys: "/",
        label: "find a session",
        hinted: true,
        run: () => document.getElementById(SEARCH_FIELD)?.focus(),
      },
      {
        keys: "?",
        label: "all keys",
        run: () => {
          setHelpOpen(true);
        },
      },
      {
        keys: "h",
        label: "show or hide the key line",
        run: () => {
          keyLine.set((shown) => (shown === "shown" ? "hidden" : "shown"));
        },
      },
      ...PAGES.map((page) => ({
        keys: `g ${page.key}`,
        label: `go to ${page.name.toLowerCase()}`,
        run: () => {
          navigate(page.path);
        },
      })),
    ],
    [navigate],
  );
  useKeys(table);
  const closeHelp = useCallback(() => {
    setHelpOpen(false);
  }, []);
  return { helpOpen, closeHelp };
}
