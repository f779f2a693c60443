/** A dialog that is open as long as it is there: it has the keyboard, Escape closes it, and the focus goes back. */

import { useEffect, useId } from "react";
import type { ReactNode, RefObject } from "react";

interface DialogProps {
  /** By which its owner closes it. */
  readonly dialog: RefObject<HTMLDialogElement | null>;
  readonly title: string;
  /** What it is about. */
  readonly subject?: ReactNode;
  readonly className?: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function Dialog({ dialog, title, subject, className = "", onClose, children }: DialogProps) {
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, [dialog]);
  return (
    <dialog ref={dialog} className={`ask ${className}`.trimEnd()} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {subject !== undefined && (
        <p className="clip subject">
          <bdi>{subject}</bdi>
        </p>
      )}
      {children}
    </dialog>
  );
}
