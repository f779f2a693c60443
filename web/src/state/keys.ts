/**
 * Keys: one table of bindings at a time, from the shell and from the page that is shown.
 *
 * A binding is one key (`j`, `J`, `/`), two in a row (`g s`), or one with Ctrl or Cmd (`Ctrl+K`). What is typed into
 * a field is never a command, except for Escape and keys with Ctrl.
 */

import { createStore } from "@/lib/store";

export interface Binding {
  /** As it is shown: `j`, `g s`, `Enter`, `Escape`, `Ctrl+K`. */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
  /** Whether the key line has it; the help always does. */
  readonly hinted?: boolean;
  /** Bindings next to each other with the same group are one hint: `j` `k` message. */
  readonly group?: string;
}

export interface Stroke {
  readonly key: string;
  readonly typing: boolean;
  readonly modified: boolean;
  /** Ctrl or Cmd, and no other modifier but Shift. */
  readonly command?: boolean;
}

const SEQUENCE_MS = 1200;

export const bindings = createStore<readonly (readonly Binding[])[]>([]);

/** Adds a table on top of the others, or below them all; returns how to take it away. */
export function addBindings(table: readonly Binding[], below = false): () => void {
  bindings.set((all) => (below ? [table, ...all] : [...all, table]));
  return () => {
    bindings.set((all) => all.filter((other) => other !== table));
  };
}

/** Finds what a stroke means, the newest table first; remembers the first key of two. */
export function createMatcher(tables: () => readonly (readonly Binding[])[], now: () => number = Date.now) {
  let prefix: string | null = null;
  let since = 0;
  return (stroke: Stroke): Binding | null => {
    const all = tables().toReversed().flat();
    if (stroke.command) {
      const wanted = `Ctrl+${stroke.key.toUpperCase()}`;
      return all.find((binding) => binding.keys === wanted) ?? null;
    }
    if (stroke.modified || (stroke.typing && stroke.key !== "Escape")) return null;
    const held = prefix !== null && now() - since < SEQUENCE_MS ? `${prefix} ` : "";
    prefix = null;
    const wanted = held + stroke.key;
    const found = all.find((binding) => binding.keys === wanted);
    if (found) return found;
    if (all.some((binding) => binding.keys.startsWith(`${wanted} `) && wanted !== " ")) {
      prefix = wanted;
      since = now();
    }
    return null;
  };
}

/** Listens on the window for all pages. */
export function listenToKeys(target: Window): () => void {
  const match = createMatcher(bindings.get);
  const listener = (event: KeyboardEvent) => {
    // An open dialog has the keyboard to itself; Escape closes it.
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    if (isOwnKey(event)) return;
    const binding = match({
      key: event.key,
      typing: isTyping(event.target),
      modified: event.ctrlKey || event.metaKey || event.altKey,
      command: event.ctrlKey !== event.metaKey && !event.altKey,
    });
    if (!binding) return;
    event.preventDefault();
    binding.run();
  };
  target.addEventListener("keydown", listener);
  return () => {
    target.removeEventListener("keydown", listener);
  };
}

const FIELDS = "input:not([type=checkbox], [type=radio]), textarea, select";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches(FIELDS));
}

/** Enter and the space bar belong to what they activate. */
function isOwnKey({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (key === "Enter") return target.matches("a, button, summary, input");
  return key === " " && target.matches("button, summary, input");
}
