/** What to narrow the list down by. */

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { projectsQuery } from "@/api/queries";
import type { SessionItem } from "@/api/types";
import { formatCount } from "@/lib/format";
import { baseName, modelName } from "@/lib/names";
import type { SessionFilter } from "@/lib/routes";
import { listFacet } from "@/state/session-rows";
import type { FacetValue } from "@/state/session-rows";

const FEW = 8;

interface FacetsProps {
  readonly filter: SessionFilter;
  readonly onChange: (change: Partial<SessionFilter>) => void;
  readonly sessions: readonly SessionItem[];
  readonly complete: boolean;
}

export function Facets({ filter, onChange, sessions, complete }: FacetsProps) {
  const projects = useQuery(projectsQuery()).data?.items;
  const byProject = useMemo<FacetValue[]>(
    () =>
      (projects ?? []).flatMap(({ path, sessions: count }) => (path === null ? [] : [{ value: path, count }])),
    [projects],
  );
  const models = useMemo(
    () => listFacet(sessions, (session) => session.models, filter.model, complete),
    [sessions, filter.model, complete],
  );
  const tags = useMemo(
    () => listFacet(sessions, (session) => session.marks.tags, filter.tag, complete),
    [sessions, filter.tag, complete],
  );
  return (
    <aside className="facets" aria-label="Narrow down">
      <Facet
        title="Project"
        total={byProject.length}
        values={byProject}
        chosen={filter.project}
        nameOf={baseName}
        onChoose={(project) => {
          onChange({ project });
        }}
      />
      <Facet
        title="Model"
        values={models}
        chosen={filter.model}
        nameOf={modelName}
        onChoose={(model) => {
          onChange({ model });
        }}
      />
      <Facet
        title="Tag"
        values={tags}
        chosen={filter.tag}
        nameOf={(tag) => tag}
        onChoose={(tag) => {
          onChange({ tag });
        }}
      />
    </aside>
  );
}

interface FacetProps {
  readonly title: string;
  readonly total?: number | null;
  readonly values: readonly FacetValue[];
  readonly chosen: string | null;
  readonly nameOf: (value: string) => string;
  readonly onChoose: (value: string | null) => void;
}

function Facet({ title, total, values, chosen, nameOf, onChoose }: FacetProps) {
  const [all, setAll] = useState(false);
  if (values.length === 0) return null;
  const shown = all ? values : values.filter(({ value }, at) => at < FEW || value === chosen);
  const hidden = values.length - shown.length;
  return (
    <>
      <h2>
        {title}
        {total != null && total > FEW && <span className="meta">{formatCount(total)}</span>}
      </h2>
      <ul>
        {shown.map(({ value, count }) => (
          <li key={value}>
            <button
              type="button"
              className="fac"
              title={value}
              aria-pressed={value === chosen}
              onClick={() => {
                onChoose(value === chosen ? null : value);
              }}
            >
              <span className="clip">{nameOf(value)}</span>
              {count !== null && <span className="n">{formatCount(count)}</span>}
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
