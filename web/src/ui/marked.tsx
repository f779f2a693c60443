/** Text with stretches of it marked; controls and direction marks are shown for what they are. */

import { showControls } from "@/lib/visible";

interface MarkedProps {
  readonly text: string;
  /** In UTF-16 units, in order, apart from each other. */
  readonly marks: readonly (readonly [start: number, end: number])[];
}

export function Marked({ text, marks }: MarkedProps) {
  const parts = [];
  let from = 0;
  for (const [start, end] of marks) {
    if (start > from) parts.push(showControls(text.slice(from, start)));
    parts.push(<mark key={start}>{showControls(text.slice(start, end))}</mark>);
    from = end;
  }
  parts.push(showControls(text.slice(from)));
  return <bdi>{parts}</bdi>;
}
