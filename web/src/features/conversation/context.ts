/** What every row of a conversation may need; it stays the same while one scrolls. */

import { createContext, useContext } from "react";

import type { Folds } from "@/state/flow/folds";
import { toggle } from "@/state/flow/folds";
import { usePart } from "@/state/binding";

export interface Conversation {
  readonly session: string;
  readonly folds: Folds;
  /** Runs of calls, and branches, that were opened. */
  readonly runs: Folds;
  /** Says something to people who do not see it happen. */
  readonly announce: (text: string) => void;
}

const Context = createContext<Conversation | null>(null);
export const ConversationProvider = Context.Provider;

export function useConversation(): Conversation {
  const conversation = useContext(Context);
  if (!conversation) throw new Error("A row stands outside of a conversation.");
  return conversation;
}

/** Whether something is open, and how to change that. */
export function useFold(key: string): readonly [open: boolean, toggle: () => void] {
  const { folds } = useConversation();
  const open = usePart(folds, (set) => set.has(key));
  return [
    open,
    () => {
      toggle(folds, key);
    },
  ];
}
