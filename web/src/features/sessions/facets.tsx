/** What to narrow the list down by. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { facetsQuery } from "@/api/lists";
import type { FacetCount } from "@/api/lists";
import { projectsQuery } from "@/api/queries";
import { useMachineNames } from "@/features/sharing/use-machine-names";
import type { SessionFacets } from "@/api/types";
import { formatCount } from "@/lib/format";
import { baseName, modelName } from "@/lib/names";
import { VISIBILITIES } from "@/lib/routes";
import type { SessionFilter, Visibility } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { withChosen } from "@/state/session-rows";
import { personName } from "@/state/sharing";
import { Icon } from "@/ui/icons";

const FEW = 8;
const TYPING_MS = 150;
export const TITLE_FIELD = "find-session";

interface FacetsProps {
  readonly filter: SessionFilter;
  /** Whether it is drawn over the list, where there is no room beside it. */
  readonly drawn: boolean;
  readonly onChange: (change: Partial<SessionFilter>, replace?: boolean) => void;
}

export function Facets({ filter, drawn, onChange }: FacetsProps) {
  const projects = useQuery(projectsQuery()).data?.items ?? [];
  const facets = useQuery(facetsQuery(filter)).data;
  return (
    <aside className={drawn ? "facets drawn" : "facets"} aria-label="Narrow down">
      <TitleField
        text={filter.text ?? ""}
        onChange={(text) => {
          onChange({ text: text === "" ? null : text }, true);
        }}
      />
      <Facet
        title="Project"
        total={projects.length}
        values={projects.flatMap(({ path, sessions }) => (path === null ? [] : [{ name: path, sessions }]))}
        chosen={filter.project}
        nameOf={baseName}
        onChoose={(project) => {
          onChange({ project });
        }}
      />
      <TeamFacets filter={filter} facets={facets} onChange={onChange} />
      <Facet
        title="Model"
        values={facets?.models ?? []}
        chosen={filter.model}
        nameOf={modelName}
        onChoose={(model) => {
          onChange({ model });
        }}
      />
      <Facet
        title="Tag"
        values={facets?.tags ?? []}
        chosen={filter.tag}
        nameOf={(tag) => tag}
        onChoose={(tag) => {
          onChange({ tag });
        }}
      />
      <Facet
        title="Branch"
        total={facets?.branches.length ?? 0}
        values={facets?.branches ?? []}
        chosen={filter.branch}
        nameOf={(branch) => branch}
        onChoose={(branch) => {
          onChange({ branch });
        }}
      />
    </aside>
  );
}

interface TeamFacetsProps {
  readonly filter: SessionFilter;
  readonly facets: SessionFacets | undefined;
  readonly onChange: (change: Partial<SessionFilter>) => void;
}

/** Whose they are, where from, and who sees them; nothing of it where there is only one person. */
function TeamFacets({ filter, facets, onChange }: TeamFacetsProps) {
  const machineName = useMachineNames();
  if (machineName === null) return null;
  return (
    <>
      <Facet
        title="Person"
        total={facets?.persons.length ?? 0}
        values={facets?.persons ?? []}
        chosen={filter.person}
        nameOf={personName}
        onChoose={(person) => {
          onChange({ person });
        }}
      />
      <Facet
        title="Machine"
        total={facets?.machines.length ?? 0}
        values={facets?.machines ?? []}
        chosen={filter.machine}
        nameOf={machineName}
        onChoose={(machine) => {
          onChange({ machine });
        }}
      />
      <h2>Seen by</h2>
      <ul>
        {(Object.entries(VISIBILITIES) as [Visibility, string][]).map(([visibility, name]) => (
          <li key={visibility}>
            <button
              type="button"
              className="fac"
              aria-pressed={filter.visibility === visibility}
              onClick={() => {
                onChange({ visibility: filter.visibility === visibility ? null : visibility });
              }}
            >
              <span className="clip">{name}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Narrows the list down by title, as one types. */
function TitleField({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // The address is the truth: going back brings the text of then.
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = text;
  }, [text]);
  const say = (next: string) => {
    clearTimeout(timer.current);
    if (next.trim() !== text) onChange(next.trim());
  };
  return (
    <div className="fac-find">
      <Icon name="grep" className="i-s" />
      <input
        ref={field}
        id={TITLE_FIELD}
        type="search"
        placeholder="Find by title"
        aria-label="Find a session by its title"
        autoComplete="off"
        spellCheck={false}
        defaultValue={text}
        onChange={(event) => {
          const { value } = event.currentTarget;
          clearTimeout(timer.current);
          timer.current = setTimeout(say, TYPING_MS, value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") say(event.currentTarget.value);
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.currentTarget.value = "";
          event.currentTarget.blur();
          say("");
        }}
      />
    </div>
  );
}

interface FacetProps {
  readonly title: string;
  readonly total?: number;
  readonly values: readonly FacetCount[];
  readonly chosen: string | null;
  readonly nameOf: (value: string) => string;
  readonly onChoose: (value: string | null) => void;
}

function Facet({ title, total = 0, values, chosen, nameOf, onChoose }: FacetProps) {
  const [all, setAll] = useState(false);
  const listed = withChosen(values, chosen);
  if (listed.length === 0) return null;
  const shown = all ? listed : listed.filter(({ name }, at) => at < FEW || name === chosen);
  const hidden = listed.length - shown.length;
  return (
    <>
      <h2>
        {title}
        {total > FEW && <span className="meta">{formatCount(total)}</span>}
      </h2>
      <ul>
        {shown.map(({ name, sessions }) => (
          <li key={name}>
            <button
              type="button"
              className="fac"
              title={name}
              aria-pressed={name === chosen}
              onClick={() => {
                onChoose(name === chosen ? null : name);
              }}
            >
              <bdi className="clip">{showControls(nameOf(name))}</bdi>
              <span className="n">{formatCount(sessions)}</span>
            </button>
          </li>
        ))}
        {hidden > 0 && (
          <li>
            <button
              type="button"
              className="fac quiet"
              onClick={() => {
                setAll(true);
              }}
            >
              {formatCount(hidden)} more
            </button>
          </li>
        )}
      </ul>
    </>
  );
}
