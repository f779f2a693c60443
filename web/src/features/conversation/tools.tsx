/** What can be done with a message; it appears where one points or tabs to. */

import { rawUrl } from "@/api/client";
import type { Call, Message } from "@/api/types";
import { copyText } from "@/lib/clipboard";
import { BASE, sessionPath, SHARED } from "@/lib/routes";
import { callMarkdown, messageMarkdown } from "@/state/flow/as-markdown";
import { Icon } from "@/ui/icons";

import { useConversation } from "./context";

interface ToolsProps {
  readonly message: Message;
  /** The call that is meant, of those of the message. */
  readonly call?: Call | null;
}

export function MessageTools({ message, call = null }: ToolsProps) {
  const { session, announce, showRaw } = useConversation();
  const copy = (text: string, what: string) => () => {
    void copyText(text).then((done) => {
      announce(done ? `${what} copied` : "The browser did not allow copying");
    });
  };
  return (
    <div className="tools">
      <button type="button" onClick={copy(call ? callMarkdown(call) : messageMarkdown(message), "Markdown")}>
        <Icon name="copy" />
        Markdown
      </button>
      <button type="button" onClick={copy(linkTo(session, message, call), "Link")}>
        <Icon name="link" />
        Link
      </button>
      {SHARED ? null : showRaw ? (
        <button
          type="button"
          onClick={() => {
            showRaw(message);
          }}
        >
          <Icon name="braces" />
          Raw
        </button>
      ) : (
        <a href={rawUrl(session, message.index, message.source)} target="_blank" rel="noopener noreferrer">
          <Icon name="braces" />
          Raw
        </a>
      )}
    </div>
  );
}

/** The address of a message, or of a call in it; in a sub-agent's file, with the file. */
export function linkTo(session: string, message: Message, call: Call | null = null): string {
  const source = message.lane === "agent" ? message.source : null;
  const path = sessionPath(session, message.uuid, { source, call: call?.index ?? null });
  return new URL(BASE + path, window.location.href).href;
}
