/** Code in colours, once its grammars are loaded: until then, and where it is too long, it is plain. */

import { useEffect, useState } from "react";

import { drawing } from "@/lib/drawing";

export interface Coloured {
  readonly text: string;
  readonly style: string;
}
export type CodeLine = readonly Coloured[];

/** Longer texts would be felt while they are read; they stay plain. */
const LONGEST = 30_000;
const MOST_KEPT = 200;

type Colour = (text: string, language: string) => CodeLine[];

let colour: Colour | null = null;
let loading: Promise<Colour | null> | null = null;
const kept = new Map<string, readonly CodeLine[]>();

function load(): Promise<Colour | null> {
  loading ??= import("./grammars").then(
    (module) => {
      colour = module.colourLines;
      return colour;
    },
    () => {
      loading = null; // The server may be gone: the next piece of code asks again.
      return null;
    },
  );
  return loading;
}

/** The lines of a text in colours; null where there are none (yet). It never changes how much room they take. */
export function useColours(text: string, language: string | null): readonly CodeLine[] | null {
  const wanted = language !== null && text.length <= LONGEST ? `${language}\n${text}` : null;
  const [done, setDone] = useState<string | null>(() => (wanted !== null && kept.has(wanted) ? wanted : null));
  const { length } = text;
  useEffect(() => {
    if (wanted === null || wanted === done) return;
    let stop: (() => void) | null = () => undefined;
    void load().then((loaded) => {
      if (!loaded || !stop) return;
      stop = drawing.wait(length, () => {
        setDone(wanted);
      });
    });
    return () => {
      stop?.();
      stop = null;
    };
  }, [wanted, done, length]);
  if (wanted === null || language === null || wanted !== done) return null;
  return keep(wanted, () => colour?.(text, language) ?? []);
}

function keep(key: string, make: () => readonly CodeLine[]): readonly CodeLine[] {
  const known = kept.get(key);
  if (known) return known;
  const lines = make();
  if (kept.size >= MOST_KEPT) {
    const [oldest] = kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
  }
  kept.set(key, lines);
  return lines;
}
