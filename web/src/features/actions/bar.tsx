/** What is over the list: whose actions, which of them, in which order; and a file of them. */

import { Link } from "wouter";

import type { SessionItem } from "@/api/types";
import { CATEGORIES, CATEGORY_NAMES, LONGER_THAN, STATES, toggleCategory } from "@/lib/action-filter";
import type { ActionFilter, ActionState } from "@/lib/action-filter";
import { formatCount, formatCounted } from "@/lib/format";
import { baseName, toolName } from "@/lib/names";
import { showControls } from "@/lib/visible";
import { Button, Segments } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { categoryClass, categoryIcon } from "@/ui/tools";

interface BarProps {
  readonly session: SessionItem | null;
  readonly total: number | null;
  readonly filter: ActionFilter;
  /** All there are in the session, with how often. */
  readonly names: readonly (readonly [name: string, count: number])[];
  readonly onChange: (change: Partial<ActionFilter>) => void;
  /** What is being gathered for a file, if any. */
  readonly gathering: string | null;
  readonly onSave: () => void;
}

export function Bar({ session, total, filter, names, onChange, gathering, onSave }: BarProps) {
  return (
    <div className="al-bar">
      <h1>
        Action log <span>{total !== null && formatCounted(total, "action")}</span>
      </h1>
      <Link className="chip whose" href="/actions" title="Choose another session">
        <span className="clip">{session === null ? "…" : nameOf(session)}</span> <Icon name="x" />
      </Link>
      <Choice
        label="Tool"
        any="Any tool"
        value={filter.name}
        options={names.map(([name, count]) => [name, `${toolName(name).name} (${formatCount(count)})`])}
        onChange={(name) => {
          onChange({ name });
        }}
      />
      <Choice
        label="Outcome"
        any="Any outcome"
        value={filter.outcome}
        options={Object.entries(STATES)}
        onChange={(outcome) => {
          onChange({ outcome: outcome as ActionState | null });
        }}
      />
      <Choice
        label="Longer than"
        any="Longer than"
        value={filter.min_ms === null ? null : String(filter.min_ms)}
        options={Object.entries(LONGER_THAN).map(([ms, text]) => [ms, `Longer than ${text}`])}
        onChange={(ms) => {
          onChange({ min_ms: ms === null ? null : Number(ms) });
        }}
      />
      <div className="grow" />
      <Segments
        label="Order"
        options={[
          ["order", "In order"],
          ["slowest", "Slowest first"],
        ]}
        value={filter.sort}
        onChange={(sort) => {
          onChange({ sort });
        }}
      />
      <Button className="csv" disabled={gathering !== null || total === 0} onClick={onSave}>
        <Icon name="dl" />
        {gathering ?? "CSV"}
      </Button>
    </div>
  );
}

function nameOf(session: SessionItem): string {
  const title = showControls(session.title ?? session.first_prompt ?? session.session_id);
  return session.project === null ? title : `${baseName(session.project)} · ${title}`;
}

interface ChoiceProps {
  readonly label: string;
  readonly any: string;
  readonly value: string | null;
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onChange: (value: string | null) => void;
}

/** A chip that is a list to choose from. */
function Choice({ label, any, value, options, onChange }: ChoiceProps) {
  const known = value === null || options.some(([option]) => option === value);
  return (
    <label className="chip choice" data-set={value !== null || undefined}>
      <span className="sr">{label}</span>
      <select
        value={value ?? ""}
        onChange={(event) => {
          onChange(event.currentTarget.value || null);
        }}
      >
        <option value="">{any}</option>
        {!known && <option value={value}>{value}</option>}
        {options.map(([option, name]) => (
          <option key={option} value={option}>
            {showControls(name)}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </label>
  );
}

interface CategoriesProps {
  readonly filter: ActionFilter;
  readonly counts: Readonly<Record<string, number>>;
  readonly onChange: (filter: ActionFilter) => void;
}

/** Ten toggles: a shape each, with how many there are. */
export function Categories({ filter, counts, onChange }: CategoriesProps) {
  return (
    <div className="cats" role="group" aria-label="Categories">
      {CATEGORY_NAMES.map((category, n) => (
        <button
          key={category}
          type="button"
          aria-pressed={!filter.off.includes(category)}
          aria-keyshortcuts={String((n + 1) % 10)}
          onClick={() => {
            onChange(toggleCategory(filter, category));
          }}
        >
          <span className={categoryClass(category)}>
            <Icon name={categoryIcon(category)} />
          </span>
          <span className="l">{CATEGORIES[category]}</span>
          <span className="n">{formatCount(counts[category] ?? 0)}</span>
        </button>
      ))}
    </div>
  );
}
