/** Forgetting and restoring a session. */

import { forgetSession, restoreSession } from "@/api/archive";
import type { Forgetting, Restoring } from "@/api/archive";
import { formatBytes, formatCounted } from "@/lib/format";
import { showControls } from "@/lib/visible";

import { Confirm } from "./confirm";

export interface Subject {
  readonly key: string;
  readonly title: string;
}

interface DialogProps {
  readonly subject: Subject;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

export function ForgetDialog({ subject, onDone, onClose }: DialogProps) {
  return (
    <Confirm<Forgetting>
      title="Forget this session?"
      subject={subject.title}
      queryKey={["forget", subject.key]}
      act={(dryRun) => forgetSession(subject.key, dryRun)}
      verb="Forget it"
      onClose={onClose}
      onDone={() => {
        onDone(`“${subject.title}” has been forgotten.`);
      }}
      describe={(would) => (
        <>
          <p>
            This removes {formatCounted(would.files, "file")} ({formatBytes(would.bytes)})
            {would.deliveries > 0 &&
              ` and ${formatCounted(would.deliveries, "hook delivery", "hook deliveries")}`}{" "}
            from the archive. The session is not archived again until you allow it.{" "}
            {would.outside.length === 0 && <b>It exists nowhere else and would be lost for good.</b>}
          </p>
          {would.outside.length > 0 && (
            <>
              <p>These stay as they are, where Claude Code wrote them:</p>
              <Paths paths={would.outside} />
            </>
          )}
          {would.backups.length + would.unknown_backups.length > 0 && (
            <>
              <p>Backups that contain it, or may contain it, are not changed:</p>
              <Paths paths={[...would.backups, ...would.unknown_backups]} />
            </>
          )}
        </>
      )}
    />
  );
}

const SHOWN_PATHS = 8;

export function RestoreDialog({ subject, onDone, onClose }: DialogProps) {
  return (
    <Confirm<Restoring>
      title="Restore this session for Claude Code?"
      subject={subject.title}
      queryKey={["restore", subject.key]}
      act={(dryRun) => restoreSession(subject.key, dryRun)}
      verb="Write the files"
      isIdle={({ written }) => written.length === 0}
      onClose={onClose}
      onDone={({ written }) => {
        onDone(`${formatCounted(written.length, "file")} of “${subject.title}” written.`);
      }}
      describe={({ written, kept }) => (
        <>
          <p>
            {written.length === 0
              ? "All of its files are in place; nothing needs to be written."
              : `This writes ${formatCounted(written.length, "file")}, byte for byte as before:`}
          </p>
          <Paths paths={written} />
          {kept.length > 0 && written.length > 0 && (
            <p>{formatCounted(kept.length, "existing file")} will not be changed.</p>
          )}
        </>
      )}
    />
  );
}

function Paths({ paths }: { readonly paths: readonly string[] }) {
  return (
    <ul className="paths">
      {paths.slice(0, SHOWN_PATHS).map((path) => (
        <li key={path}>
          <code>{showControls(path)}</code>
        </li>
      ))}
      {paths.length > SHOWN_PATHS && <li>and {formatCounted(paths.length - SHOWN_PATHS, "more", "more")}</li>}
    </ul>
  );
}
