/** The pages there are, in the order of the top bar. A page that is added here gets its place and its key. */

import { lazy } from "react";
import type { ComponentType } from "react";

import { SessionsPage } from "@/features/sessions/page";
import type { IconName } from "@/ui/icons";

import { startAgain } from "./start-again";

export interface Page {
  readonly path: string;
  /** Which addresses are its own, if more than its path. */
  readonly route?: string;
  readonly name: string;
  /** What it is called at the foot of a phone; without it, it stands under “More”. */
  readonly short?: string;
  readonly icon: IconName;
  /** With `g` before it. */
  readonly key: string;
  /** Only where there are accounts. */
  readonly team?: true;
  /** Not in the top bar: other pages lead to it. */
  readonly aside?: true;
  readonly show: ComponentType;
}

/** A page that is loaded when it is gone to. */
function later(load: () => Promise<ComponentType>): ComponentType {
  return lazy(() =>
    load()
      .then((show) => ({ default: show }))
      .catch(startAgain),
  );
}

export const PAGES: readonly Page[] = [
  {
    path: "/mission-control",
    name: "Mission control",
    short: "Live",
    icon: "pause",
    key: "m",
    show: later(() => import("@/features/mission-control/page").then((part) => part.MissionControlPage)),
  },
  { path: "/sessions", name: "Sessions", short: "Sessions", icon: "outline", key: "s", show: SessionsPage },
  {
    path: "/search",
    name: "Search",
    short: "Search",
    icon: "grep",
    key: "f",
    show: later(() => import("@/features/search/page").then((part) => part.SearchPage)),
  },
  {
    path: "/actions",
    route: "/actions/:session?",
    name: "Action log",
    icon: "glob",
    key: "a",
    show: later(() => import("@/features/actions/page").then((part) => part.ActionsPage)),
  },
  {
    path: "/usage",
    name: "Usage",
    short: "Usage",
    icon: "table",
    key: "u",
    show: later(() => import("@/features/usage/page").then((part) => part.UsagePage)),
  },
  {
    path: "/problems",
    name: "Problems",
    icon: "error",
    key: "p",
    show: later(() => import("@/features/archive/page").then((part) => part.ArchivePage)),
  },
  {
    path: "/people",
    name: "People",
    icon: "person",
    key: "w",
    team: true,
    show: later(() => import("@/features/people/page").then((part) => part.PeoplePage)),
  },
  {
    path: "/audit",
    name: "Audit",
    icon: "todo",
    key: "l",
    team: true,
    aside: true,
    show: later(() => import("@/features/audit/page").then((part) => part.AuditPage)),
  },
];
