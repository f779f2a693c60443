/** A native `details` whose state is kept outside: the row may leave the document and come back. */

import type { ReactNode } from "react";

import { useFold } from "./context";

interface FoldProps {
  readonly id: string;
  readonly className: string;
  readonly summary: ReactNode;
  readonly children: () => ReactNode;
}

export function Fold({ id, className, summary, children }: FoldProps) {
  const [open, toggle] = useFold(id);
  return (
    <details className={className} open={open}>
      {/* The browser makes a button of it: the click is also that of Enter and space. */}
      <summary
        data-fold={id}
        onClick={(event) => {
          event.preventDefault();
          toggle();
        }}
      >
        {summary}
      </summary>
      {open && children()}
    </details>
  );
}
