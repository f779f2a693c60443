/** Fetches a file piece by piece, and gives it to the reader when all of it is here. */

import { useEffect, useRef, useState } from "react";

import { fetchExport } from "@/api/exporting";
import { downloadBlob } from "@/lib/download";

interface ExportState {
  /** How much has come; null while nothing is under way. */
  readonly bytes: number | null;
  readonly error: Error | null;
}

const NOTHING: ExportState = { bytes: null, error: null };

export function useExport(onDone: (name: string) => void) {
  const [state, setState] = useState<ExportState>(NOTHING);
  const underWay = useRef<AbortController | null>(null);
  const stop = () => {
    underWay.current?.abort();
    underWay.current = null;
  };
  useEffect(() => stop, []);
  const start = (query: string, name: string) => {
    stop();
    const abort = new AbortController();
    underWay.current = abort;
    setState({ bytes: 0, error: null });
    const tell = (bytes: number) => {
      if (!abort.signal.aborted) setState({ bytes, error: null });
    };
    void fetchExport(query, tell, abort.signal).then(
      (file) => {
        if (abort.signal.aborted) return;
        setState(NOTHING);
        downloadBlob(name, file);
        onDone(name);
      },
      (cause: unknown) => {
        if (abort.signal.aborted) return;
        setState({ bytes: null, error: cause instanceof Error ? cause : new Error(String(cause)) });
      },
    );
  };
  return { state, start, stop };
}
