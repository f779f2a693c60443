/** A row in its place. Where many come at once, as when one jumps far, each has its turn to be drawn. */

import { memo } from "react";

import { weighRow } from "@/state/flow/spacing";
import type { Space } from "@/state/flow/spacing";
import type { ContentRow } from "@/state/flow/rows";
import { useDrawn } from "@/ui/use-drawn";

import { RowContent } from "./rows";

interface FlowRowProps {
  readonly row: ContentRow;
  /** Its number among the rows. */
  readonly at: number;
  readonly start: number;
  /** How tall it is, as far as is known. */
  readonly size: number;
  readonly space: Space;
  readonly current: boolean;
  /** Whether its operations are looked at in the sidechain. */
  readonly lit: boolean;
  readonly measure: (element: HTMLDivElement | null) => void;
  readonly onPick: (key: string) => void;
}

export const FlowRow = memo(function FlowRow(props: FlowRowProps) {
  const { row, at, start, size, space, current, lit, measure, onPick } = props;
  const drawn = useDrawn(weighRow(row));
  return (
    // Pointing at a row makes it the one that keys act on; keys themselves do so by `j` and `k`.
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions, jsx-a11y/click-events-have-key-events
    <div
      ref={drawn ? measure : null}
      data-index={at}
      data-row={row.key}
      data-current={current || undefined}
      data-lit={lit || undefined}
      className={`fl-row gap-${space}${row.nested ? " nested" : ""}`}
      style={
        drawn ? { transform: `translateY(${start}px)` } : { transform: `translateY(${start}px)`, height: size }
      }
      tabIndex={-1}
      onClick={() => {
        onPick(row.key);
      }}
    >
      {drawn && <RowContent row={row} />}
    </div>
  );
});
