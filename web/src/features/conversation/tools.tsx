/** What can be done with a message; it appears where one points or tabs to. */

import { rawUrl } from "@/api/client";
import type { Message } from "@/api/types";
import { sessionPath } from "@/lib/routes";
import { Icon } from "@/ui/icons";

import { useConversation } from "./context";

export function MessageTools({ message }: { readonly message: Message }) {
  const { session, announce } = useConversation();
  const copy = (text: string, what: string) => () => {
    void copyText(text).then((done) => {
      announce(done ? `${what} copied` : "The browser did not allow copying");
    });
  };
  return (
    <div className="tools">
      <button type="button" onClick={copy(message.content, "Markdown")}>
        <Icon name="copy" />
        Markdown
      </button>
      <button type="button" onClick={copy(linkTo(session, message.uuid), "Link")}>
        <Icon name="link" />
        Link
      </button>
      <a href={rawUrl(session, message.index, message.source)} target="_blank" rel="noopener noreferrer">
        <Icon name="braces" />
        Raw
      </a>
    </div>
  );
}

export function linkTo(session: string, uuid: string): string {
  return new URL(sessionPath(session, uuid), window.location.href).href;
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
