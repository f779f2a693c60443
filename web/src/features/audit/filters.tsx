/** Who, whose, what, and which session. */

import { useQuery } from "@tanstack/react-query";

import type { Me } from "@/api/me";
import { usersQuery } from "@/api/people";
import type { AuditState } from "@/lib/people-routes";
import { ACTIONS } from "@/state/audit";
import { Icon } from "@/ui/icons";

interface FiltersProps {
  readonly me: Me;
  readonly state: AuditState;
  readonly onChange: (part: Partial<AuditState>) => void;
}

export function Filters({ me, state, onChange }: FiltersProps) {
  const users = useQuery(usersQuery()).data?.map(({ name }) => name) ?? [];
  return (
    <div className="us-bar au-bar" role="group" aria-label="Filters">
      <Pick
        label="Who did it"
        all="By anyone"
        value={state.who}
        options={users.map((name) => [name, `By ${name}`])}
        onChange={(who) => {
          onChange({ who });
        }}
      />
      {me.is_admin && (
        <Pick
          label="Whom it concerns"
          all="Concerning anyone"
          value={state.person}
          options={users.map((name) => [name, `Concerning ${name}`])}
          onChange={(person) => {
            onChange({ person });
          }}
        />
      )}
      <Pick
        label="What was done"
        all="Anything"
        value={state.action}
        options={Object.entries(ACTIONS)}
        onChange={(action) => {
          onChange({ action });
        }}
      />
      {state.session !== null && (
        <button
          type="button"
          className="tok"
          onClick={() => {
            onChange({ session: null });
          }}
        >
          <span className="sr">Remove </span>
          <span>One session</span>
          <Icon name="x" />
        </button>
      )}
    </div>
  );
}

interface PickProps {
  readonly label: string;
  readonly all: string;
  readonly value: string | null;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onChange: (value: string | null) => void;
}

function Pick({ label, all, value, options, onChange }: PickProps) {
  // What an address names is shown, also if nobody is called that.
  const known = value === null || options.some(([option]) => option === value);
  return (
    <span className="chip pick">
      <select
        aria-label={label}
        value={value ?? ""}
        onChange={(event) => {
          const { value: chosen } = event.currentTarget;
          onChange(chosen === "" ? null : chosen);
        }}
      >
        <option value="">{all}</option>
        {!known && <option value={value}>{value}</option>}
        {options.map(([option, name]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </span>
  );
}
