/** Keys that count on every page, and what they open over it. */

import { useCallback, useMemo, useState } from "react";
import { useLocation } from "wouter";

import type { Binding } from "@/state/keys";
import { keyLine, nextTheme, theme } from "@/state/settings";
import { useKeys } from "@/state/use-keys";

import { usePages } from "./use-pages";

export type Overlay = "help" | "palette" | null;

export function useShellKeys() {
  const [open, setOpen] = useState<Overlay>(null);
  const [, navigate] = useLocation();
  const pages = usePages();
  const table = useMemo<readonly Binding[]>(
    () => [
      {
        keys: "Ctrl+K",
        label: "search or jump to",
        run: () => {
          setOpen("palette");
        },
      },
      {
        keys: "/",
        label: "search",
        hinted: true,
        run: () => {
          navigate("/search");
        },
      },
      {
        keys: "?",
        label: "all keys",
        run: () => {
          setOpen("help");
        },
      },
      {
        keys: "h",
        label: "show or hide the key line",
        run: () => {
          keyLine.set((shown) => (shown === "shown" ? "hidden" : "shown"));
        },
      },
      {
        keys: "g t",
        label: "change theme",
        run: () => {
          theme.set(nextTheme);
        },
      },
      ...pages.map((page) => ({
        keys: `g ${page.key}`,
        label: `go to ${page.name.toLowerCase()}`,
        run: () => {
          navigate(page.path);
        },
      })),
    ],
    [navigate, pages],
  );
  useKeys(table, true);
  const close = useCallback(() => {
    setOpen(null);
  }, []);
  return { open, setOpen, close };
}
