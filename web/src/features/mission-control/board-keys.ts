/** Keys of the board: cards and columns, and what is done with the one that is chosen. */

import { useCallback, useMemo, useState } from "react";

import type { BoardCard } from "@/api/board";
import type { BoardGroup } from "@/state/board";
import type { Binding } from "@/state/keys";
import { useKeys } from "@/state/use-keys";

interface BoardKeys {
  readonly current: string | null;
  readonly said: string;
}

export function useBoardKeys(groups: readonly BoardGroup[]): BoardKeys {
  const [current, setCurrent] = useState<string | null>(null);
  const [said, setSaid] = useState("");
  const choose = useCallback((card: BoardCard | undefined) => {
    if (!card) return;
    setCurrent(card.session_id);
    focusCard(card.session_id);
  }, []);
  const table = useMemo<readonly Binding[]>(() => {
    const filled = groups.filter((group) => group.cards.length > 0);
    const column = filled.findIndex((group) => group.cards.some((card) => card.session_id === current));
    const row = filled[column]?.cards.findIndex((card) => card.session_id === current) ?? -1;
    const chosen = filled[column]?.cards[row];
    const move = (down: number, right: number) => () => {
      if (!chosen) {
        choose(filled[0]?.cards[0]);
        return;
      }
      const group = filled[clamp(column + right, filled.length)];
      if (group) choose(group.cards[clamp(row + down, group.cards.length)]);
    };
    const next = () => {
      const waiting = filled.flatMap((group) => group.cards.filter((card) => card.column === "needs_you"));
      const at = waiting.findIndex((card) => card.session_id === current);
      choose(waiting[(at + 1) % Math.max(1, waiting.length)]);
    };
    const copy = () => {
      if (!chosen) return;
      if (chosen.resume === null) setSaid("This session cannot be resumed");
      else void copyText(chosen.resume).then(setSaid);
    };
    return [
      { keys: "j", label: "next card", group: "card", hinted: true, run: move(1, 0) },
      { keys: "k", label: "previous card", group: "card", hinted: true, run: move(-1, 0) },
      { keys: "h", label: "previous column", group: "column", hinted: true, run: move(0, -1) },
      { keys: "l", label: "next column", group: "column", hinted: true, run: move(0, 1) },
      {
        keys: "Enter",
        label: "open at the point it waits",
        hinted: true,
        // The chosen card has the focus, and then this key is the browser's own; else it chooses one.
        run: move(0, 0),
      },
      { keys: "r", label: "copy resume command", hinted: true, run: copy },
      { keys: "n", label: "next that needs you", hinted: true, run: next },
    ];
  }, [groups, current, choose]);
  useKeys(table);
  return { current, said };
}

function clamp(at: number, length: number): number {
  return Math.min(Math.max(at, 0), length - 1);
}

function focusCard(session: string): void {
  const card = document.querySelector(`[data-card="${CSS.escape(session)}"]`);
  card?.scrollIntoView({ block: "nearest" });
  card?.querySelector<HTMLElement>("a, [tabindex]")?.focus({ preventScroll: true });
}

async function copyText(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return "The command that resumes it was copied";
  } catch {
    return "The browser did not allow copying";
  }
}
