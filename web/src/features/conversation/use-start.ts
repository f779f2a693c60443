/** Where a conversation is opened: at the message that its address names, at its end, or at its beginning. */

import { useCallback, useEffect, useRef } from "react";
import type { RefObject } from "react";
import { useSearch } from "wouter";

import { opensAtEnd, parsePlace } from "@/lib/routes";
import type { MessagePlace } from "@/lib/routes";
import type { Flow } from "@/state/flow/flow";

import type { FlowHandle } from "./flow-view";

interface StartOptions {
  readonly message: string | null;
  readonly goTo: (target: string | number | null) => Promise<boolean>;
  readonly land: (message: string, place: MessagePlace) => Promise<void>;
  readonly handle: RefObject<FlowHandle | null>;
  readonly flow: Flow;
}

/** Goes where the address points to, now and whenever it changes; returns how to do so again. */
export function useStart({ message, goTo, land, handle, flow }: StartOptions): () => void {
  const search = useSearch();
  const ending = useRef(false);
  // What else the address says, such as what is looked for, is no reason to go anywhere.
  const { source, call } = parsePlace(search);
  const atEnd = opensAtEnd(search);
  const start = useCallback(() => {
    if (message !== null) void land(message, { source, call });
    else if (atEnd) {
      ending.current = true;
      void flow.openEnd();
    } else void goTo(null);
  }, [message, source, call, atEnd, goTo, land, flow]);
  useEffect(start, [start]);
  // The rows are there one render after their messages.
  useEffect(() => {
    if (!ending.current || !handle.current || flow.state.get().layout.at(-1)?.kind !== "stretch") return;
    ending.current = false;
    handle.current.scrollToEnd();
  });
  return start;
}
