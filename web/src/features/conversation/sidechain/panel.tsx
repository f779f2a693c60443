/**
 * The sidechain panel (spec 003): the flow says what was said, this says what was done for it.
 *
 * The group of what is read is lit and open; pointing at a group lights its answer in the flow.
 */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";

import type { Call, Sidechain, Turn } from "@/api/types";
import { formatCount, formatCounted } from "@/lib/format";
import type { Store } from "@/lib/store";
import { useStore } from "@/state/binding";
import { createFolds, toggle } from "@/state/flow/folds";
import type { Row } from "@/state/flow/rows";
import { countOperations, filterGroups, groupAt } from "@/state/sidechain";
import type { Shown } from "@/state/sidechain";
import { IconButton } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import type { IconName } from "@/ui/icons";
import { Skeleton } from "@/ui/skeleton";
import { categoryClass } from "@/ui/tools";

import { Group } from "./group";
import { useGroups } from "./use-groups";
import type { Groups } from "./use-groups";

interface PanelProps {
  readonly session: string;
  readonly turns: readonly Turn[];
  readonly passed: Store<Row | null>;
  readonly shown: Store<Shown>;
  /** The message that somebody asked to see the operations of. */
  readonly asked: number | null;
  readonly drawn: boolean;
  readonly onClose: () => void;
  readonly onLook: (message: number | null) => void;
  readonly onGo: (message: number, call: number | null) => void;
}

const FILTERS: readonly (readonly [shown: Exclude<Shown, "all">, label: string, icon: IconName])[] = [
  ["failed", "Failed", "error"],
  ["agent", "Agents", "agent"],
  ["mcp", "MCP", "mcp"],
  ["skill", "Skills", "skill"],
];

export function SidechainPanel(props: PanelProps) {
  const { session, shown: filter, drawn, onClose } = props;
  const groups = useGroups(session);
  const { all, whole, total } = groups;
  const shown = useStore(filter);
  const counts = useMemo(() => countOperations(all), [all]);
  const [folds] = useState(createFolds);
  const [auto, setAuto] = useState(true);
  const listed = useMemo(() => listGroups(groups, whole ? shown : "all"), [groups, whole, shown]);
  return (
    <aside className={drawn ? "side right drawn" : "side right"} aria-label="Sidechain">
      <div className="sc-head">
        <h2>Sidechain</h2>
        <span className="meta">
          {!groups.pending && (whole ? formatCounted(counts.all, "operation") : formatCounted(total, "answer"))}
        </span>
        <span className="grow" />
        <button
          type="button"
          className="btn btn-s btn-bare"
          onClick={() => {
            folds.set(new Set());
            setAuto(false);
          }}
        >
          Fold all
        </button>
        <IconButton className="sc-close" icon="x" label="Close the sidechain" onClick={onClose} />
      </div>
      <div className="sc-filter" role="group" aria-label="Show">
        <button
          type="button"
          aria-pressed={shown === "all"}
          onClick={() => {
            filter.set("all");
          }}
        >
          All
        </button>
        {FILTERS.filter(([name]) => counts[name] > 0 || shown === name).map(([name, label, icon]) => (
          <button
            key={name}
            type="button"
            aria-pressed={shown === name}
            aria-label={`${label}, ${counts[name]}`}
            title={label}
            onClick={() => {
              filter.set(shown === name ? "all" : name);
            }}
          >
            <span className={categoryClass(name === "failed" ? "error" : name)}>
              <Icon name={icon} />
            </span>
            {formatCount(counts[name])}
          </button>
        ))}
      </div>
      {groups.pending ? (
        <Skeleton rows={6} shape="turn" />
      ) : groups.error ? (
        <p className="sc-none">It could not be loaded: {groups.error.message}</p>
      ) : listed.count === 0 ? (
        <p className="sc-none">{total === 0 ? "No tool was called here." : "No operations match."}</p>
      ) : (
        <GroupList {...props} listed={listed} sort={shown} folds={folds} auto={auto} />
      )}
    </aside>
  );
}

/** What is listed, whether all of it is here or not. */
interface Listed {
  readonly count: number;
  readonly at: (index: number) => Sidechain | undefined;
  readonly look: (first: number, last: number) => void;
  readonly find: (message: number) => Promise<number>;
}

function listGroups(groups: Groups, shown: Shown): Listed {
  const { all, total, at, look, find } = groups;
  if (shown === "all") return { count: total, at, look, find };
  const chosen = filterGroups(all, shown);
  return {
    count: chosen.length,
    at: (index) => chosen[index],
    look: () => undefined,
    find: (message) => Promise.resolve(groupAt(chosen, message)),
  };
}

/** What holds for a moment is what one reads; what flies past while scrolling is not. */
const SETTLE_MS = 160;

interface Lit {
  /** Which group; -1: none. */
  readonly group: number;
  /** The call in it that is read. */
  readonly call: number | null;
}

/**
 * The group that is lit: that of what is read, as soon as one rests there and it is known where it stands. Nothing is
 * drawn for what flies past.
 */
function useLit(find: Listed["find"], passed: Store<Row | null>, asked: number | null): Lit {
  const [lit, setLit] = useState<Lit>({ group: -1, call: null });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let latest = 0;
    const light = () => {
      const own = ++latest;
      const row = passed.get();
      const message = asked ?? (row === null || row.kind === "gap" ? -1 : row.index);
      const call = row?.kind === "call" ? row.call.index : null;
      void find(message)
        .catch(() => -1)
        .then((group) => {
          if (own !== latest) return;
          setLit((before) => (before.group === group && before.call === call ? before : { group, call }));
        });
    };
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(light, SETTLE_MS);
    };
    wait();
    const stop = passed.subscribe(wait);
    return () => {
      latest += 1;
      clearTimeout(timer);
      stop();
    };
  }, [find, passed, asked]);
  return lit;
}

interface GroupsProps extends PanelProps {
  readonly listed: Listed;
  readonly sort: Shown;
  readonly folds: ReturnType<typeof createFolds>;
  /** Whether the group of what is read opens by itself. */
  readonly auto: boolean;
}

function GroupList({ listed, turns, passed, asked, sort, folds, auto, onLook, onGo }: GroupsProps) {
  const { group: lit, call: chosen } = useLit(listed.find, passed, asked);
  const toggled = useStore(folds);
  const scroller = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- groups are few at a time
  const virtual = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: listed.count,
    getScrollElement: () => scroller.current,
    estimateSize: () => 62,
    paddingStart: 6,
    paddingEnd: 44,
    scrollPaddingStart: 24,
    scrollPaddingEnd: 120,
    overscan: 4,
  });
  useEffect(() => {
    if (lit >= 0) virtual.scrollToIndex(lit, { align: "auto" });
  }, [lit, virtual]);
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const { look } = listed;
  useEffect(() => {
    look(first, last);
  }, [look, first, last]);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reached by keys
    <div ref={scroller} className="sc-list" tabIndex={0} role="group" aria-label="Operations by answer">
      <div className="sc-all" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const group = listed.at(item.index);
          if (!group) return null;
          const on = item.index === lit;
          // A fold that was touched is the opposite of what it would be by itself.
          const open = (auto && on) !== toggled.has(`${group.message_uuid}${auto && on ? "-on" : ""}`);
          return (
            <div
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <Group
                group={group}
                title={group.title || promptOf(turns, group.message)}
                open={open}
                on={on}
                shown={sort}
                current={chosen}
                onToggle={() => {
                  toggle(folds, `${group.message_uuid}${auto && on ? "-on" : ""}`);
                }}
                onLook={(looked) => {
                  onLook(looked?.message ?? null);
                }}
                onGo={(to: Sidechain, call: Call | null) => {
                  onGo(call?.message ?? to.message, call?.index ?? null);
                }}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** An answer that says nothing goes by what was asked. */
function promptOf(turns: readonly Turn[], message: number): string {
  const turn = turns.findLast((each) => each.prompt <= message);
  return turn ? `“${turn.title}”` : "Without text";
}
