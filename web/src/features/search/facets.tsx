/** What to narrow hits down by; counts stand there only when all hits are there to be counted. */

import type { Hit } from "@/api/types";
import { useTeam } from "@/state/use-me";
import { formatCount } from "@/lib/format";
import { toolName } from "@/lib/names";
import { tally } from "@/state/hit-groups";
import type { Tally } from "@/state/hit-groups";
import { has, makeToken } from "@/state/query";
import type { FieldState, Token } from "@/state/query";
import { Icon } from "@/ui/icons";
import type { IconName } from "@/ui/icons";
import { toolIcon } from "@/ui/tools";

import { KINDS } from "./hit-kind";

const TOOLS = 7;
const PERSONS = 7;
const TIMES = [
  ["today", "Today"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
] as const;

interface FacetsProps {
  readonly state: FieldState;
  readonly hits: readonly Hit[];
  readonly complete: boolean;
  readonly onToggle: (token: Token) => void;
}

export function HitFacets({ state, hits, complete, onToggle }: FacetsProps) {
  const kinds = new Map(tally(hits, (hit) => hit.kind).map(({ name, count }) => [name, count]));
  const team = useTeam() !== null;
  const persons = team ? tally(hits, (hit) => hit.person ?? null).slice(0, PERSONS) : [];
  const tools = tally(hits, (hit) => hit.tool).slice(0, TOOLS);
  const countIf = (fits: (hit: Hit) => boolean) => (complete ? hits.filter(fits).length : null);
  const facet = (
    token: Token,
    name: string,
    icon: IconName | null,
    count: number | null,
    colour = "c-builtin",
  ) => (
    <li key={token.raw}>
      <button
        type="button"
        className="fac"
        aria-pressed={has(state, token)}
        onClick={() => {
          onToggle(token);
        }}
      >
        <span className="lab">
          {icon && (
            <span className={colour}>
              <Icon name={icon} />
            </span>
          )}
          <span className="clip">{name}</span>
        </span>
        {count !== null && <span className="n">{formatCount(count)}</span>}
      </button>
    </li>
  );
  return (
    <aside className="facets" aria-label="Narrow down">
      <h2>When</h2>
      {complete && <When hits={hits} />}
      <ul>{TIMES.map(([value, name]) => facet(makeToken("after", value), name, null, null))}</ul>
      <h2>Kind</h2>
      <ul>
        {KINDS.filter(
          ([kind]) => kinds.has(kind) || hits.length === 0 || has(state, makeToken("kind", kind)),
        ).map(([kind, name, icon]) =>
          facet(makeToken("kind", kind), name, icon, complete ? (kinds.get(kind) ?? 0) : null),
        )}
        {facet(
          makeToken("is", "sidechain"),
          "Sub-agents",
          "agent",
          countIf((hit) => hit.agent_id !== null),
          "c-agent",
        )}
      </ul>
      {persons.length > 0 && (
        <>
          <h2>Person</h2>
          <ul>
            {persons.map(({ name, count }: Tally) =>
              facet(makeToken("person", name), name, "person", complete ? count : null),
            )}
          </ul>
        </>
      )}
      {tools.length > 0 && (
        <>
          <h2>Tool</h2>
          <ul>
            {tools.map(({ name, count }: Tally) =>
              facet(
                makeToken("tool", name),
                toolName(name).name,
                toolIcon(name, name.startsWith("mcp__") ? "mcp" : "builtin"),
                complete ? count : null,
              ),
            )}
          </ul>
        </>
      )}
      <h2>Outcome</h2>
      <ul>
        {facet(
          makeToken("is", "error"),
          "Failed",
          "error",
          countIf((hit) => hit.is_error),
          "c-error",
        )}
      </ul>
    </aside>
  );
}

const BARS = 28;

/** When hits were, as bars over the time they span. */
function When({ hits }: { readonly hits: readonly Hit[] }) {
  const times = hits.flatMap((hit) => (hit.created_at === null ? [] : [Date.parse(hit.created_at)]));
  const first = Math.min(...times);
  const last = Math.max(...times);
  if (times.length < 2 || last - first < 3_600_000) return null;
  const counts = new Array<number>(BARS).fill(0);
  for (const time of times) {
    const at = Math.min(BARS - 1, Math.floor(((time - first) / (last - first)) * BARS));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const most = Math.max(...counts);
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
  return (
    <>
      <svg className="hist" viewBox={`0 0 ${BARS * 7} 40`} aria-hidden="true">
        {counts.map((count, at) => {
          const height = count === 0 ? 1 : 3 + (count / most) * 37;
          return <rect key={at} x={at * 7} y={40 - height} width={5} height={height} rx={1} />;
        })}
      </svg>
      <div className="histx micro" aria-hidden="true">
        <span>{day.format(first)}</span>
        <span>{day.format(last)}</span>
      </div>
    </>
  );
}
