/** Hits, by session. */

import { memo, useEffect, useRef } from "react";
import { Link } from "wouter";

import type { Hit } from "@/api/types";
import { useMachineNames } from "@/features/sharing/use-machine-names";
import { describeDay } from "@/lib/days";
import { formatClock, formatCounted, formatMoment } from "@/lib/format";
import { baseName } from "@/lib/names";
import { hitPath, sessionPath } from "@/lib/routes";
import { toUnits } from "@/lib/units";
import { showControls } from "@/lib/visible";
import type { HitGroup } from "@/state/hit-groups";
import { personName } from "@/state/sharing";
import { Icon } from "@/ui/icons";
import { Marked } from "@/ui/marked";

import { colourOfHit, iconOfHit, isCode, nameOfHit } from "./hit-kind";

interface ResultsProps {
  readonly groups: readonly HitGroup[];
  readonly current: number;
  readonly hasMore: boolean;
  readonly onLook: (at: number) => void;
  readonly onMore: () => void;
}

export function Results({ groups, current, hasMore, onLook, onMore }: ResultsProps) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = end.current;
    if (!hasMore || !element) return;
    const watcher = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) onMore();
      },
      { rootMargin: "800px" },
    );
    watcher.observe(element);
    return () => {
      watcher.disconnect();
    };
  }, [hasMore, onMore, groups]);
  return (
    <>
      {groups.map((group) => (
        <Group
          key={group.key}
          group={group}
          current={group.hits.some(({ at }) => at === current) ? current : null}
          onLook={onLook}
        />
      ))}
      {hasMore && (
        <div className="more-hits" ref={end}>
          <button type="button" className="btn btn-s" onClick={onMore}>
            More hits
          </button>
        </div>
      )}
    </>
  );
}

interface GroupProps {
  readonly group: HitGroup;
  readonly current: number | null;
  readonly onLook: (at: number) => void;
}

const Group = memo(function Group({ group, current, onLook }: GroupProps) {
  const machineName = useMachineNames();
  const newest = group.hits[0]?.hit.created_at ?? null;
  const title = group.title ?? "A session without a title";
  return (
    <section className="grp" aria-label={title}>
      <header>
        <h2 className="clip">
          {group.session === null ? (
            <bdi>{showControls(title)}</bdi>
          ) : (
            <Link href={sessionPath(group.session)}>
              <bdi>{showControls(title)}</bdi>
            </Link>
          )}
        </h2>
        {group.project !== null && (
          <span className="meta" title={group.project}>
            {baseName(group.project)}
          </span>
        )}
        {machineName && group.person !== undefined && (
          <span className="meta whose dot-sep">
            <b>{showControls(personName(group.person))}</b>
            {group.machine !== "" && <span>{showControls(machineName(group.machine))}</span>}
          </span>
        )}
        <span className="meta r">
          {formatCounted(group.hits.length, "hit")}
          {newest !== null && ` · ${describeDay(newest, new Date()).name}`}
        </span>
      </header>
      {group.hits.map(({ hit, at }) => (
        <HitRow key={at} hit={hit} at={at} current={at === current} onLook={onLook} />
      ))}
    </section>
  );
});

interface HitRowProps {
  readonly hit: Hit;
  readonly at: number;
  readonly current: boolean;
  readonly onLook: (at: number) => void;
}

const HitRow = memo(function HitRow({ hit, at, current, onLook }: HitRowProps) {
  const text = <Marked text={hit.snippet} marks={toUnits(hit.snippet, hit.marks)} />;
  return (
    <Link
      className="hit"
      href={hitPath(hit)}
      data-hit={at}
      aria-current={current || undefined}
      onFocus={() => {
        onLook(at);
      }}
    >
      <span className={colourOfHit(hit)}>
        <Icon name={iconOfHit(hit)} />
      </span>
      <span className="k0">{nameOfHit(hit)}</span>
      <span className="meta num" title={formatMoment(hit.created_at)}>
        {formatClock(hit.created_at)}
      </span>
      <span className="sn">{isCode(hit) ? <code>{text}</code> : text}</span>
    </Link>
  );
});
