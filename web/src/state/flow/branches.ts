/** Which of several ways through a conversation is shown. Where a prompt was edited, one way is chosen. Pure. */

import type { Branch } from "@/api/types";

/** For each message behind which prompts were edited, the branch that one chose. */
export type Choices = ReadonlyMap<number, number>;

export interface Fork {
  /** The message behind which it is. */
  readonly at: number;
  /** Branches that begin there, in the order in which they were written. */
  readonly branches: readonly Branch[];
  readonly shown: number;
}

export interface Ways {
  /** Whether messages of a branch are shown; those that follow nothing are judged elsewhere. */
  readonly isShown: (branch: number) => boolean;
  /** The fork that a message is the first of, if it is one. */
  readonly forkOf: (branch: number, message: number) => Fork | null;
  /** What has to be chosen so that a branch is shown. */
  readonly leadTo: (branch: number) => Choices;
  readonly branch: (index: number) => Branch | undefined;
}

export function findWays(branches: readonly Branch[], choices: Choices): Ways {
  const byIndex = new Map(branches.map((branch) => [branch.index, branch]));
  const forks = groupByFork(branches);
  const chosen = new Map([...forks].map(([at, group]) => [at, choose(group, choices.get(at))]));
  const shown = new Map<number, boolean>();
  const isShown = (index: number): boolean => {
    const known = shown.get(index);
    if (known !== undefined) return known;
    const branch = byIndex.get(index);
    shown.set(index, true); // What leads in a circle is shown.
    const at = branch?.parent ?? null;
    const above = branch && at !== null ? parentOf(branches, branch, at) : undefined;
    const answer =
      at === null ||
      !forks.has(at) ||
      (chosen.get(at) === index && (above === undefined || isShown(above.index)));
    shown.set(index, answer);
    return answer;
  };
  return {
    isShown,
    branch: (index) => byIndex.get(index),
    forkOf: (index, message) => {
      const branch = byIndex.get(index);
      const group = branch?.parent != null && branch.first === message ? forks.get(branch.parent) : undefined;
      return group && branch?.parent != null ? { at: branch.parent, branches: group, shown: index } : null;
    },
    leadTo: (index) => {
      const wanted = new Map(choices);
      const seen = new Set<number>();
      for (let branch = byIndex.get(index); branch?.parent != null && !seen.has(branch.index);) {
        seen.add(branch.index);
        if (forks.has(branch.parent)) wanted.set(branch.parent, branch.index);
        branch = parentOf(branches, branch, branch.parent);
      }
      return wanted;
    },
  };
}

/** Only where there are several is there something to choose. */
function groupByFork(branches: readonly Branch[]): ReadonlyMap<number, readonly Branch[]> {
  const groups = new Map<number, Branch[]>();
  for (const branch of branches) {
    if (branch.parent === null) continue;
    groups.set(branch.parent, [...(groups.get(branch.parent) ?? []), branch]);
  }
  return new Map([...groups].filter(([, group]) => group.length > 1));
}

function choose(group: readonly Branch[], choice: number | undefined): number | undefined {
  const wanted = group.find((branch) => branch.index === choice) ?? group.find((branch) => branch.active);
  return (wanted ?? group.at(-1))?.index;
}

/** A branch ends where others leave it, so the one that ends with a message is the one that it is in. */
function parentOf(branches: readonly Branch[], branch: Branch, at: number): Branch | undefined {
  const others = branches.filter((other) => other !== branch && other.first <= at && at <= other.last);
  return others.find((other) => other.last === at) ?? others[0];
}
