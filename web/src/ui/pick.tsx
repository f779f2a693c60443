/** One of several, or all of them. */

import { showControls } from "@/lib/visible";

import { Icon } from "./icons";

interface PickProps {
  readonly label: string;
  /** What stands for all. */
  readonly all: string;
  readonly options: readonly (readonly [value: string, name: string])[];
  /** Null: all. An empty value is one like any other. */
  readonly value: string | null;
  readonly onPick: (value: string | null) => void;
}

export function Pick({ label, all, options, value, onPick }: PickProps) {
  // What is chosen stays there, also where nothing has it any more.
  const listed =
    value === null || options.some(([option]) => option === value)
      ? options
      : [...options, [value, value] as const];
  return (
    <label className="chip pick">
      <span className="sr">{label}</span>
      <select
        value={value === null ? "all" : `=${value}`}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          onPick(chosen === "all" ? null : chosen.slice(1));
        }}
      >
        <option value="all">{all}</option>
        {listed.map(([option, name]) => (
          <option key={option} value={`=${option}`}>
            {showControls(name)}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </label>
  );
}
