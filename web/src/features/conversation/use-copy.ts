/** Copying what was said, and saying whether that worked. */

import { useCallback } from "react";

import { getTimeline } from "@/api/conversation";
import type { Message, Turn } from "@/api/types";
import { copyText } from "@/lib/clipboard";
import { turnMarkdown } from "@/state/flow/as-markdown";

/** A turn of more messages than this is no longer something to paste. */
const MOST_COPIED = 4000;

export function useCopy(session: string, announce: (text: string) => void) {
  const copy = useCallback(
    (what: string, text: string | Promise<string>) => {
      void Promise.resolve(text)
        .then(copyText)
        .catch(() => false)
        .then((done) => {
          announce(done ? `${what} copied` : "It could not be copied");
        });
    },
    [announce],
  );
  const copyTurn = useCallback(
    (turn: Turn) => {
      copy(`Turn ${turn.index + 1}`, loadTurn(session, turn).then(turnMarkdown));
    },
    [copy, session],
  );
  return { copy, copyTurn };
}

async function loadTurn(session: string, turn: Turn): Promise<readonly Message[]> {
  const place = { source: null, agent: null };
  const messages: Message[] = [];
  let window = await getTimeline(session, { around: turn.prompt }, place);
  for (;;) {
    messages.push(...window.items.filter((message) => message.turn === turn.index));
    const last = window.items.at(-1);
    const over = last === undefined || (last.turn !== null && last.turn > turn.index);
    if (over || window.after === null || messages.length > MOST_COPIED) return messages;
    window = await getTimeline(session, { after: window.after }, place);
  }
}
