/** Over the list: how many there are, the most used filters, the order; or what to do with those that are selected. */

import { useQuery } from "@tanstack/react-query";

import { statusQuery } from "@/api/queries";
import { formatCount, formatDate } from "@/lib/format";
import { SORTS } from "@/lib/routes";
import type { SessionFilter, SessionSort } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { useStore } from "@/state/binding";
import { density } from "@/state/settings";
import { Button, Chip, Segments } from "@/ui/controls";
import { Icon } from "@/ui/icons";

interface ListBarProps {
  readonly filter: SessionFilter;
  readonly onChange: (change: Partial<SessionFilter>) => void;
  readonly total: number | null;
  /** Whether the other filters are drawn over the list, where there is no room beside it. */
  readonly drawn: boolean;
  readonly onDraw: () => void;
}

export function ListBar({ filter, onChange, total, drawn, onDraw }: ListBarProps) {
  const rowHeight = useStore(density);
  const onlyHere = useQuery(statusQuery()).data?.only_here ?? 0;
  const off = (part: Partial<SessionFilter>, name: string) => (
    <Chip
      pressed
      onToggle={() => {
        onChange(part);
      }}
    >
      <bdi>{showControls(name)}</bdi> <Icon name="x" />
    </Chip>
  );
  return (
    <div className="bar">
      <h1>
        Sessions <span>{total !== null && formatCount(total)}</span>
      </h1>
      <Chip className="to-facets" icon="queue" pressed={drawn} onToggle={onDraw}>
        Filters
      </Chip>
      <Chip
        icon="star"
        pressed={filter.starred}
        onToggle={() => {
          onChange({ starred: !filter.starred });
        }}
      >
        Starred
      </Chip>
      <Chip
        className="wide"
        icon="error"
        pressed={filter.errors}
        onToggle={() => {
          onChange({ errors: !filter.errors });
        }}
      >
        Has errors
      </Chip>
      <Chip
        className="wide"
        pressed={filter.only_here}
        onToggle={() => {
          onChange({ only_here: !filter.only_here });
        }}
      >
        Deleted by Claude Code, kept here {onlyHere > 0 && <b>{formatCount(onlyHere)}</b>}
      </Chip>
      {filter.text !== null && off({ text: null }, `“${filter.text}”`)}
      {(filter.since !== null || filter.until !== null) &&
        off({ since: null, until: null }, nameOfSpan(filter.since, filter.until))}
      <div className="grow" />
      <label className="sorter">
        <span className="sr">Order</span>
        <select
          value={filter.sort}
          onChange={(event) => {
            onChange({ sort: event.currentTarget.value as SessionSort });
          }}
        >
          {Object.entries(SORTS).map(([sort, name]) => (
            <option key={sort} value={sort}>
              {name}
            </option>
          ))}
        </select>
        <Icon name="down" className="i-s" />
      </label>
      <Segments
        label="Lines for each session"
        options={[
          ["two", "Two lines"],
          ["one", "One"],
        ]}
        value={rowHeight}
        onChange={density.set}
      />
    </div>
  );
}

const DAY_MS = 86_400_000;

/** `14 Mar` for one day, else from when to when. */
function nameOfSpan(since: string | null, until: string | null): string {
  if (since !== null && until !== null && Date.parse(until) - Date.parse(since) <= DAY_MS)
    return formatDate(since);
  return [since !== null && `since ${formatDate(since)}`, until !== null && `before ${formatDate(until)}`]
    .filter(Boolean)
    .join(", ");
}

interface SelectionBarProps {
  readonly count: number;
  readonly onStar: () => void;
  readonly onTag: () => void;
  readonly onExport: () => void;
  /** Null where there is nobody to share with. */
  readonly onShare: (() => void) | null;
  readonly onPutAway: () => void;
  readonly onClear: () => void;
}

export function SelectionBar(props: SelectionBarProps) {
  const { count, onStar, onTag, onExport, onShare, onPutAway, onClear } = props;
  return (
    <div className="bar" role="group" aria-label="Selected sessions">
      <h1>
        {formatCount(count)} <span>selected</span>
      </h1>
      <Button className="btn-s" onClick={onStar}>
        <Icon name="star" className="i-s" /> Star
      </Button>
      <Button className="btn-s" onClick={onTag}>
        <Icon name="tag" className="i-s" /> Tag…
      </Button>
      <Button className="btn-s" onClick={onExport}>
        <Icon name="dl" className="i-s" /> Export…
      </Button>
      {onShare && (
        <Button className="btn-s" onClick={onShare}>
          <Icon name="person" className="i-s" /> Share…
        </Button>
      )}
      <Button className="btn-s" onClick={onPutAway}>
        Put away
      </Button>
      <div className="grow" />
      <Button className="btn-s btn-bare" onClick={onClear}>
        Select none
      </Button>
    </div>
  );
}
