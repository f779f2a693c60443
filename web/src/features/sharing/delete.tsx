/** Deletes a session for good, after saying what goes, and what does not. */

import { useQueryClient } from "@tanstack/react-query";

import { deleteSession, previewDeletion } from "@/api/sharing";
import type { Deletion } from "@/api/sharing";
import { Confirm } from "@/features/archive/confirm";
import { formatBytes, formatCounted, formatDate } from "@/lib/format";
import { showControls } from "@/lib/visible";

interface DeleteDialogProps {
  readonly session: string;
  readonly title: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function DeleteDialog({ session, title, onDone, onClose }: DeleteDialogProps) {
  const client = useQueryClient();
  return (
    <Confirm<Deletion>
      title="Delete this session?"
      subject={showControls(title)}
      queryKey={["deletion-preview", session]}
      act={(dryRun) => (dryRun ? previewDeletion(session) : deleteSession(session))}
      verb="Delete it for good"
      typed="delete"
      onClose={onClose}
      onDone={() => {
        onDone();
        void client.invalidateQueries({ queryKey: ["sessions"] });
      }}
      describe={({ sessions, files, bytes, deliveries, links, backups }) => (
        <>
          <p>
            This removes {formatCounted(files, "file")} ({formatBytes(bytes)})
            {sessions > 1 && ` of ${formatCounted(sessions, "session")}`}
            {deliveries > 0 && ` and ${formatCounted(deliveries, "hook delivery", "hook deliveries")}`} from the
            archive{links > 0 && `, and ends ${formatCounted(links, "link")} to it`}. Machines that still have
            its files will not bring it back.
          </p>
          {backups.length > 0 && (
            <>
              <p>These backups still have it, and are not changed:</p>
              <ul className="paths">
                {backups.map(({ path, at, certain }) => (
                  <li key={path}>
                    <code>{showControls(path)}</code> of {formatDate(at)}
                    {!certain && ", which may have it"}
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    />
  );
}
