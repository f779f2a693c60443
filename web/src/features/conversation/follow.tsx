/** The end of a conversation that goes on: whether it is followed, and how much is new below. */

import { useState } from "react";

import { formatCount } from "@/lib/format";
import { Icon } from "@/ui/icons";

/** How many messages have come since the reader was at the end; none while the end is followed. */
export function useNews(total: number, opened: boolean, following: boolean): number {
  const [seen, setSeen] = useState<number | null>(null);
  // What was there from the beginning, and what was seen at the end, is not new.
  if (opened && seen !== total && (seen === null || following || total < seen)) setSeen(total);
  return opened && !following && seen !== null ? Math.max(0, total - seen) : 0;
}

export function TailLine() {
  return (
    <div className="tail-line">
      <span className="g" />
      <span>
        <b>Following the end.</b> Scroll up to stop.
      </span>
    </div>
  );
}

export function NewsPill({ news, onEnd }: { readonly news: number; readonly onEnd: () => void }) {
  if (news === 0) return null;
  return (
    <div className="follow">
      <button type="button" onClick={onEnd}>
        <Icon name="end" className="i-s" />
        <span>{formatCount(news)} new below</span>
        <kbd aria-hidden="true">e</kbd>
      </button>
    </div>
  );
}
