/** All that can be jumped to or done, in sections. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { facetsQuery, sessionTitlesQuery } from "@/api/lists";
import { projectsQuery } from "@/api/queries";
import { fewHitsQuery } from "@/api/search";
import type { Hit, SessionItem } from "@/api/types";
import { colourOfHit, iconOfHit, isCode } from "@/features/search/hit-kind";
import { formatCounted } from "@/lib/format";
import { baseName } from "@/lib/names";
import { hitPath, NO_FILTER, searchPath, sessionPath, sessionsPath } from "@/lib/routes";
import { nearFirstMark, toUnits } from "@/lib/units";
import { useStore } from "@/state/binding";
import { bindings } from "@/state/keys";
import { rank } from "@/state/palette";
import type { Asked, Entry, Ranked } from "@/state/palette";
import type { IconName } from "@/ui/icons";

import { PAGES } from "../pages";
import { usePages } from "../use-pages";

export interface Choice extends Entry {
  readonly detail?: string;
  readonly keys?: string;
  readonly icon?: IconName;
  readonly colour?: string;
  readonly state?: SessionItem["state"];
  readonly code?: boolean;
  /** Where it leads to; without it, `run` does something. */
  readonly path?: string;
  readonly run?: () => void;
}

export interface Section {
  readonly name: string;
  readonly choices: readonly Ranked<Choice>[];
}

const MANY = 30;
/** Keys that move are of no use in a list that has the keyboard. */
const SILENT = new Set(["Ctrl+K", "j", "k", "J", "K", "Escape", "Enter", "ArrowLeft", "ArrowRight"]);

export function useSections({ scope, text }: Asked): { sections: readonly Section[]; waiting: boolean } {
  const sessions = useSessions(text);
  const hits = useQuery({ ...fewHitsQuery(text), enabled: text.length > 1 && isIn(scope, "messages") });
  const projects = useQuery(projectsQuery()).data?.items;
  const facets = useQuery({ ...facetsQuery(NO_FILTER), enabled: text !== "" || scope === "tags" }).data;
  const commands = useCommands();
  const known = usePages();
  const sections = useMemo(() => {
    const most = (few: number) => (scope === "everything" ? few : MANY);
    const pages = known.map((page): Choice => ({
      id: `page ${page.path}`,
      title: page.name,
      icon: page.icon,
      keys: `g ${page.key}`,
      path: page.path,
    }));
    const places = (projects ?? []).flatMap(({ path, sessions: count }): Choice[] =>
      path === null
        ? []
        : [
            {
              id: `project ${path}`,
              title: baseName(path),
              detail: formatCounted(count, "session"),
              icon: "file",
              path: sessionsPath({ ...NO_FILTER, project: path }),
            },
          ],
    );
    const tags = (facets?.tags ?? []).map(({ name, sessions: count }): Choice => ({
      id: `tag ${name}`,
      title: name,
      detail: formatCounted(count, "session"),
      icon: "tag",
      path: sessionsPath({ ...NO_FILTER, tag: name }),
    }));
    const all: [in_: Asked["scope"], name: string, choices: readonly Ranked<Choice>[]][] = [
      ["sessions", "Sessions", rank(sessions.map(choiceOf), text, most(5))],
      ["messages", "Messages", text.length > 1 ? messages(hits.data?.items ?? [], text, scope) : []],
      ["commands", "Pages", rank(pages, text, most(text === "" ? known.length : 4))],
      ["projects", "Projects", scope === "everything" && text === "" ? [] : rank(places, text, most(3))],
      ["tags", "Tags", scope === "everything" && text === "" ? [] : rank(tags, text, most(3))],
      ["commands", "Commands", rank(commands, text, most(4))],
    ];
    return all.flatMap(([kind, name, choices]) =>
      isIn(scope, kind) && choices.length > 0 ? [{ name, choices }] : [],
    );
  }, [scope, text, sessions, hits.data, projects, facets, commands, known]);
  return { sections, waiting: hits.isFetching };
}

function isIn(scope: Asked["scope"], kind: Asked["scope"]): boolean {
  return scope === "everything" || scope === kind;
}

/** Those that the page knows already, and those that the server finds. */
function useSessions(text: string): readonly SessionItem[] {
  const client = useQueryClient();
  const found = useQuery(sessionTitlesQuery(text)).data?.items;
  return useMemo(() => {
    const known = client
      .getQueriesData<{ pages?: readonly { items: readonly SessionItem[] }[] }>({ queryKey: ["sessions"] })
      .flatMap(([, data]) => data?.pages?.flatMap((page) => page.items) ?? []);
    return [...new Map([...(found ?? []), ...known].map((session) => [session.key, session])).values()];
  }, [client, found]);
}

function choiceOf(session: SessionItem): Choice {
  return {
    id: `session ${session.key}`,
    title: session.title ?? session.first_prompt ?? session.session_id,
    state: session.state ?? "done",
    path: sessionPath(session.key),
    ...(session.project === null ? {} : { detail: baseName(session.project) }),
  };
}

function messages(hits: readonly Hit[], text: string, scope: Asked["scope"]): Ranked<Choice>[] {
  const found = hits.map((hit, at): Ranked<Choice> => ({
    id: `hit ${at}`,
    ...nearFirstMark(hit.snippet, toUnits(hit.snippet, hit.marks)),
    icon: iconOfHit(hit),
    colour: colourOfHit(hit),
    code: isCode(hit),
    path: hitPath(hit),
    ...(hit.project === null ? {} : { detail: baseName(hit.project) }),
  }));
  const all: Ranked<Choice> = {
    id: "hit all",
    title: `Search all messages for “${text}”`,
    marks: [],
    icon: "grep",
    path: searchPath({ text, order: "newest" }),
  };
  return scope === "messages" || found.length > 0 ? [...found, all] : [all];
}

function useCommands(): readonly Choice[] {
  const tables = useStore(bindings);
  return useMemo(
    () =>
      tables
        .toReversed()
        .flat()
        .filter(({ keys }) => !SILENT.has(keys) && !PAGES.some((page) => keys === `g ${page.key}`))
        .map((binding) => ({
          id: `command ${binding.keys}`,
          title: binding.label.slice(0, 1).toUpperCase() + binding.label.slice(1),
          icon: "right",
          keys: binding.keys,
          run: binding.run,
        })),
    [tables],
  );
}
