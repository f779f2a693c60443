import { formatClock, formatDate } from "@/lib/format";
import { showControls } from "@/lib/visible";
import { Brand } from "@/ui/icons";

import type { SharedLink } from "./use-link";

/** Says what this is, over the session. */
export function SharedBanner({ link }: { readonly link: SharedLink }) {
  return (
    <header className="shared-by" role="banner">
      <span className="brand">
        <Brand />
        <span className="wordmark">turnlog</span>
      </span>
      <p>
        <span>
          {link.shared_by ? (
            <>
              Shared by <b>{showControls(link.shared_by)}</b>
            </>
          ) : (
            "Shared with you"
          )}
        </span>
        <span>secrets are removed</span>
        <span>
          until{" "}
          <time dateTime={link.expires_at}>
            {formatDate(link.expires_at)}, {formatClock(link.expires_at)}
          </time>
        </span>
      </p>
      <span className="grow" />
    </header>
  );
}
