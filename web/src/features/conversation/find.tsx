/** Find in this conversation, also in what is not drawn: the server looks, and one steps from hit to hit. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";

import { findQuery } from "@/api/conversation";
import { formatCount } from "@/lib/format";
import { firstFrom, orderHits, wordsIn } from "@/state/find";
import type { Place } from "@/state/find";
import { useSettled } from "@/state/use-settled";
import { IconButton } from "@/ui/controls";
import { clearHighlight, highlightWords } from "@/ui/highlight";
import { Icon } from "@/ui/icons";

interface FindProps {
  readonly session: string;
  /** What the address says is looked for; told when something else is. */
  readonly sought: string;
  readonly onSeek: (text: string) => void;
  /** The message that is read. */
  readonly reading: () => number;
  readonly onGo: (place: Place) => void;
  readonly onClose: () => void;
}

const NAME = "find";
const TYPING_MS = 120;

export function FindBar({ session, sought, onSeek, reading, onGo, onClose }: FindProps) {
  const [text, setText] = useState(sought);
  const [at, setAt] = useState(-1);
  // Somebody went back or forward, or followed a link: what is looked for is what the address says.
  const [told, setTold] = useState(sought);
  if (sought !== told) {
    setTold(sought);
    if (sought !== text.trim()) {
      setText(sought);
      setAt(-1);
    }
  }
  const field = useRef<HTMLInputElement>(null);
  const settled = useSettled(text.trim(), TYPING_MS);
  const query = useQuery(findQuery(session, settled));
  const places = useMemo(
    () => (settled.length > 1 && query.data ? orderHits(query.data.hits, session) : []),
    [query.data, session, settled],
  );
  useEffect(() => {
    field.current?.focus();
  }, []);
  useMarks(settled);
  const seek = useEffectEvent(onSeek);
  useEffect(() => {
    seek(settled);
  }, [settled]);
  // Whoever is faster than the answer goes on when it has come.
  const ready = settled === text.trim() && query.data !== undefined && !query.isPlaceholderData;
  const waiting = useRef<1 | -1 | null>(null);
  const step = (by: 1 | -1) => {
    waiting.current = ready ? null : by;
    if (!ready || places.length === 0) return;
    const from = at < 0 ? firstFrom(places, reading()) - (by > 0 ? 1 : 0) : at;
    const next = (from + by + places.length) % places.length;
    const place = places[next];
    setAt(next);
    if (place) onGo(place);
  };
  const goOn = useEffectEvent(() => {
    if (waiting.current !== null) step(waiting.current);
  });
  useEffect(() => {
    if (!ready) return;
    const timer = setTimeout(() => {
      goOn();
    });
    return () => {
      clearTimeout(timer);
    };
  }, [ready]);
  return (
    <div className="find" role="search">
      <Icon name="grep" className="i-s" />
      <input
        ref={field}
        type="search"
        value={text}
        aria-label="Find in this conversation"
        placeholder="Find in this conversation"
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => {
          setText(event.target.value);
          setAt(-1);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            step(event.shiftKey ? -1 : 1);
          } else if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            onClose();
          }
        }}
      />
      <span className="meta" role="status">
        {counted(settled, query, places.length, at)}
      </span>
      <IconButton
        icon="left"
        label="Previous hit"
        disabled={places.length === 0}
        onClick={() => {
          step(-1);
        }}
      />
      <IconButton
        icon="right"
        label="Next hit"
        disabled={places.length === 0}
        onClick={() => {
          step(1);
        }}
      />
      <IconButton icon="x" label="Close" onClick={onClose} />
    </div>
  );
}

interface Asked {
  readonly isPending: boolean;
  readonly isPlaceholderData: boolean;
  readonly error: Error | null;
  readonly data: { readonly more: boolean } | undefined;
}

function counted(text: string, { isPending, isPlaceholderData, error, data }: Asked, hits: number, at: number) {
  if (text.length < 2) return "";
  if (error) return error.message;
  if (isPending || isPlaceholderData) return "…";
  if (hits === 0) return "nothing found";
  const all = `${formatCount(hits)}${data?.more ? "+" : ""}`;
  return at < 0 ? `${all} hit${hits === 1 ? "" : "s"}` : `${at + 1} of ${all}`;
}

/** Marks the words wherever they are drawn, as rows come and go. */
function useMarks(text: string): void {
  useEffect(() => {
    // The flow itself may not be there yet.
    const root = document.getElementById("main");
    const words = wordsIn(text);
    if (!root || words.length === 0) {
      clearHighlight(NAME);
      return;
    }
    let frame = 0;
    const mark = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        const flow = root.querySelector(".flow");
        if (flow) highlightWords(flow, words, NAME);
      });
    };
    mark();
    const watcher = new MutationObserver(mark);
    watcher.observe(root, { childList: true, subtree: true });
    return () => {
      watcher.disconnect();
      cancelAnimationFrame(frame);
      clearHighlight(NAME);
    };
  }, [text]);
}
