/** What could not be done, why, and a way on. */

import type { ReactNode } from "react";

interface NoticeProps {
  readonly title: string;
  readonly detail: string;
  readonly children?: ReactNode;
}

export function Notice({ title, detail, children }: NoticeProps) {
  return (
    <div className="banner bad" role="alert">
      <span className="st st-fail" aria-hidden="true" />
      <span>
        <b>{title}</b> {detail}
      </span>
      <span className="grow" />
      {children}
    </div>
  );
}
