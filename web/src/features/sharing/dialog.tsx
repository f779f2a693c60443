/** Who sees a session: the team or not, and strangers by links. */

import "@/styles/sharing.css";

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useRef } from "react";

import { accessQuery } from "@/api/sharing";
import { showControls } from "@/lib/visible";
import { describeAccess } from "@/state/sharing";
import { Button } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Links } from "./links";
import { useTeam } from "@/state/use-me";
import { VisibilityChoice } from "./visibility";

const OPENED_EVERY_MS = 5000;

interface ShareDialogProps {
  readonly session: string;
  readonly title: string;
  readonly onDelete: () => void;
  readonly onClose: () => void;
}

export function ShareDialog({ session, title, onDelete, onClose }: ShareDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const me = useTeam();
  const client = useQueryClient();
  // How often links were opened is told by nobody.
  const query = useQuery({ ...accessQuery(session), refetchInterval: OPENED_EVERY_MS });
  const { data: access, error } = query;
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const renew = () => client.invalidateQueries({ queryKey: ["access", session] });
  const writes = me?.may_write === true && access?.may_change === true;
  return (
    <dialog ref={dialog} className="ask sharing" aria-labelledby={`${id}-t`} onClose={onClose}>
      <h2 id={`${id}-t`}>Share</h2>
      <p className="clip subject">
        <bdi>{showControls(title)}</bdi>
      </p>
      {error && !access && (
        <Notice title="Who sees it could not be loaded." detail={error.message}>
          <button type="button" onClick={() => void query.refetch()}>
            Try again
          </button>
        </Notice>
      )}
      {!access && !error && <Skeleton rows={4} shape="turn" />}
      {access && (
        <>
          <p className="why" role="status">
            {showControls(describeAccess(access, me?.name ?? null))}
          </p>
          {writes ? (
            <VisibilityChoice access={access} onDone={renew} />
          ) : (
            <p className="quiet">
              {access.person === null
                ? "Only admins can change that."
                : `Only ${access.person} and admins can change that.`}
            </p>
          )}
          {(writes || access.links.length > 0) && <Links access={access} mayWrite={writes} onDone={renew} />}
        </>
      )}
      <footer>
        {writes && (
          <Button className="btn-bare danger" onClick={onDelete}>
            Delete it…
          </Button>
        )}
        <span className="grow" />
        <Button onClick={() => dialog.current?.close()}>Done</Button>
      </footer>
    </dialog>
  );
}
