/** Links to a session: those there are, and a new one. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { revokeLink } from "@/api/sharing";
import type { Access, ShareLink } from "@/api/sharing";
import { formatCounted, formatMoment } from "@/lib/format";
import { showControls } from "@/lib/visible";
import { describeLink, sortLinks, stateOf } from "@/state/sharing";
import { useClock } from "@/state/use-clock";
import { Button } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";

import { NewLink } from "./new-link";

const SHOWN = 5;
const MINUTE_MS = 60_000;

interface LinksProps {
  readonly access: Access;
  readonly mayWrite: boolean;
  readonly onDone: () => Promise<unknown>;
}

export function Links({ access, mayWrite, onDone }: LinksProps) {
  const now = useClock((time) => Math.floor(time / MINUTE_MS) * MINUTE_MS);
  const [adding, setAdding] = useState(false);
  const end = useMutation({ mutationFn: revokeLink, onSettled: onDone });
  const links = sortLinks(access.links, now);
  const rest = links.length - SHOWN;
  return (
    <section className="links" aria-label="Links">
      <h3>Links</h3>
      {links.length === 0 && (
        <p className="quiet">A link shows this session, and nothing else, to anyone who has its address.</p>
      )}
      <ul>
        {links.slice(0, SHOWN).map((link) => (
          <LinkRow
            key={link.id}
            link={link}
            now={now}
            ending={end.isPending && end.variables === link.id}
            onEnd={
              mayWrite
                ? () => {
                    end.mutate(link.id);
                  }
                : null
            }
          />
        ))}
      </ul>
      {rest > 0 && <p className="quiet">and {formatCounted(rest, "older link")}</p>}
      {end.error && <Notice title="The link was not revoked." detail={end.error.message} />}
      {mayWrite &&
        (adding ? (
          <NewLink session={access.key} onDone={onDone} />
        ) : (
          <Button
            onClick={() => {
              setAdding(true);
            }}
          >
            <Icon name="link" className="i-s" /> New link…
          </Button>
        ))}
    </section>
  );
}

interface LinkRowProps {
  readonly link: ShareLink;
  readonly now: number;
  readonly ending: boolean;
  /** Null for whoever may not end it. */
  readonly onEnd: (() => void) | null;
}

function LinkRow({ link, now, ending, onEnd }: LinkRowProps) {
  const open = stateOf(link, now) === "open";
  return (
    <li className={open ? undefined : "over"}>
      <Icon name="link" className="i-s" />
      <span>
        <span title={`Created ${formatMoment(link.created_at)}`}>{showControls(describeLink(link, now))}</span>
        {link.words.length > 0 && (
          <span className="meta">
            {" "}
            without {formatCounted(link.words.length, "word of your own", "words of your own")}
          </span>
        )}
      </span>
      {open && onEnd && (
        <Button className="btn-s" disabled={ending} onClick={onEnd}>
          Revoke{" "}
        </Button>
      )}
    </li>
  );
}
