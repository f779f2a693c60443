/** What the reader chose, kept in this browser: the theme, the height of rows, how much of a conversation is shown. */

import { createStore } from "@/lib/store";
import type { Store } from "@/lib/store";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const DENSITIES = ["two", "one"] as const;
export type Density = (typeof DENSITIES)[number];

export const LEVELS = ["prose", "calls", "all"] as const;
export type Level = (typeof LEVELS)[number];

export const SIDECHAINS = ["shown", "hidden"] as const;
export const KEY_LINES = ["shown", "hidden"] as const;

export const theme = keptStore<Theme>("turnlog.theme", THEMES, "system");
export const density = keptStore<Density>("turnlog.rows", DENSITIES, "two");
export const level = keptStore<Level>("turnlog.level", LEVELS, "calls");
export const sidechain = keptStore<(typeof SIDECHAINS)[number]>("turnlog.sidechain", SIDECHAINS, "shown");
export const keyLine = keptStore<(typeof KEY_LINES)[number]>("turnlog.keys", KEY_LINES, "shown");

/** Puts the theme on the document, now and whenever it changes. */
export function applyTheme(root: HTMLElement): void {
  const apply = () => {
    if (theme.get() === "system") delete root.dataset["theme"];
    else root.dataset["theme"] = theme.get();
  };
  theme.subscribe(apply);
  apply();
}

export function nextTheme(current: Theme): Theme {
  return THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? "system";
}

export function keptStore<T extends string>(key: string, allowed: readonly T[], initial: T): Store<T> {
  const kept = readKept(key);
  const store = createStore<T>(allowed.find((value) => value === kept) ?? initial);
  store.subscribe(() => {
    writeKept(key, store.get());
  });
  return store;
}

function readKept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // Storage may be forbidden; then nothing is kept.
  }
}

function writeKept(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // See readKept.
  }
}
