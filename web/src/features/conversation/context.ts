/** What every row of a conversation may need; it stays the same while one scrolls. */

import { createContext, useContext, useMemo } from "react";

import type { Agent, Message, Turn } from "@/api/types";
import { SHARED } from "@/lib/routes";
import { createStore } from "@/lib/store";
import type { Store } from "@/lib/store";
import { usePart } from "@/state/binding";
import type { Folds } from "@/state/flow/folds";
import { toggle } from "@/state/flow/folds";

/** A message of a sub-agent that somebody wants to see where it stands. */
export interface Landing {
  readonly agent: string;
  readonly message: number;
}

interface Basis {
  readonly session: string;
  readonly folds: Folds;
  /** Runs of calls, and branches, that were opened. */
  readonly runs: Folds;
  /** Says something to people who do not see it happen. */
  readonly announce: (text: string) => void;
}

/** What only a whole conversation has; where a few of its rows are shown, there is nothing of it. */
interface Around {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly landing: Store<Landing | null>;
  /** Chooses one of several ways at a fork. */
  readonly choose: ((fork: number, branch: number) => void) | null;
  readonly showRaw: ((message: Message) => void) | null;
  /** Brings something within a row into sight. */
  readonly bring: (element: HTMLElement) => void;
  /** Shows the operations of a message in the sidechain. */
  readonly showOperations: ((message: number) => void) | null;
  readonly copyTurn: ((turn: Turn) => void) | null;
  /** What whoever asked is called: `You` in one's own session. */
  readonly asker: string;
}

export type Conversation = Basis & Around;

const ALONE: Around = {
  agents: new Map(),
  landing: createStore<Landing | null>(null),
  choose: null,
  showRaw: null,
  bring: (element) => {
    element.scrollIntoView({ block: "center" });
  },
  showOperations: null,
  copyTurn: null,
  asker: SHARED ? "Person" : "You",
};

const Context = createContext<(Basis & Partial<Around>) | null>(null);
export const ConversationProvider = Context.Provider;

export function useConversation(): Conversation {
  const conversation = useContext(Context);
  if (!conversation) throw new Error("This row is not inside a conversation.");
  return useMemo(() => ({ ...ALONE, ...conversation }), [conversation]);
}

const Depth = createContext(0);
export const DepthProvider = Depth.Provider;

/** How many sub-agents one is in. */
export function useDepth(): number {
  return useContext(Depth);
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
