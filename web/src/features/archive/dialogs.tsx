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
        onDone(`“${subject.title}” is forgotten.`);
      }}
      describe={(would) => (
        <>
          <p>
            It takes {formatCounted(would.files, "file")} ({formatBytes(would.bytes)})
            {would.deliveries > 0 &&
              ` and ${formatCounted(would.deliveries, "delivery", "deliveries")} of hooks`}{" "}
            out of the archive, and is not archived again until you allow it.{" "}
            {would.outside.length === 0 && <b>It exists nowhere else: it would be gone for good.</b>}
          </p>
          {would.outside.length > 0 && (
            <>
              <p>These stay as they are, where Claude Code wrote them:</p>
              <Paths paths={would.outside} />
            </>
          )}
          {would.backups.length + would.unknown_backups.length > 0 && (
            <>
              <p>Backups that have it, or may, are not touched:</p>
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
      title="Give this session back to Claude Code?"
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
              ? "All of its files are where they were; nothing would be written."
              : `It writes ${formatCounted(written.length, "file")}, byte for byte as they were:`}
          </p>
          <Paths paths={written} />
          {kept.length > 0 && written.length > 0 && (
            <p>{formatCounted(kept.length, "file")} that exist there stay as they are.</p>
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
