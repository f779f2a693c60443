/** A message as its file has it: every line, every field. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { rawUrl } from "@/api/client";
import { rawQuery } from "@/api/conversation";
import type { Message } from "@/api/types";
import { copyText } from "@/lib/clipboard";
import { formatCounted } from "@/lib/format";
import { Output } from "@/ui/code";
import { IconButton } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

interface RawProps {
  readonly session: string;
  readonly message: Message;
  readonly announce: (text: string) => void;
  readonly onClose: () => void;
}

export function RawDialog({ session, message, announce, onClose }: RawProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const query = useQuery(rawQuery(session, message.index, message.source));
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  const lines = query.data?.split("\n").filter((line) => line.trim() !== "") ?? [];
  return (
    <dialog ref={dialog} className="raw" aria-label="Raw lines" onClose={onClose}>
      <div className="raw-head">
        <h2>Raw</h2>
        <span className="meta">
          {query.data !== undefined && formatCounted(lines.length, "line")} of {message.type}
        </span>
        <span className="grow" />
        <button
          type="button"
          className="btn btn-s"
          disabled={query.data === undefined}
          onClick={() => {
            void copyText(query.data ?? "").then((done) => {
              announce(done ? "Raw lines copied" : "The browser did not allow copying");
            });
          }}
        >
          Copy
        </button>
        <a
          className="btn btn-s"
          href={rawUrl(session, message.index, message.source)}
          target="_blank"
          rel="noopener noreferrer"
        >
          As a file
        </a>
        <IconButton icon="x" label="Close" onClick={onClose} />
      </div>
      <div className="raw-lines">
        {query.isPending && <Skeleton rows={4} shape="message" />}
        {query.isError && <Notice title="It could not be loaded." detail={query.error.message} />}
        {lines.map((line, at) => (
          <Output key={at} text={indent(line)} wrap language="json" />
        ))}
      </div>
    </dialog>
  );
}

/** Lines that are no JSON are shown as they are. */
function indent(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return line;
  }
}
