/** Private, for the team, or as the rules say: it counts as soon as it is chosen. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";

import { setVisibility } from "@/api/sharing";
import type { Access } from "@/api/sharing";
import { showControls } from "@/lib/visible";
import { choiceOf, describeRule } from "@/state/sharing";
import type { Choice } from "@/state/sharing";
import { Notice } from "@/ui/notice";

import { useTeam } from "@/state/use-me";

interface VisibilityChoiceProps {
  readonly access: Access;
  readonly onDone: () => Promise<unknown>;
}

export function VisibilityChoice({ access, onDone }: VisibilityChoiceProps) {
  const me = useTeam()?.name ?? null;
  const change = useVisibility(onDone);
  const owner = access.person === me ? "you" : (access.person ?? "its owner");
  const shown = change.isPending ? change.variables.choice : choiceOf(access);
  return (
    <>
      <Choices
        chosen={shown}
        hints={{
          rules: showControls(describeRule(access)),
          private: `Only ${owner} and admins; what admins view is recorded.`,
          team: "Everyone who has an account here.",
        }}
        onChoose={(choice) => {
          change.mutate({ keys: [access.key], choice });
        }}
      />
      {change.error && <Notice title="It could not be changed." detail={change.error.message} />}
    </>
  );
}

/** Says who sees some sessions, and has whatever shows them loaded again. */
export function useVisibility(onDone: (changed: readonly string[]) => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ keys, choice }: { keys: readonly string[]; choice: Choice }) =>
      setVisibility(keys, choice === "rules" ? null : choice),
    onSuccess: async (changed) => {
      void client.invalidateQueries({ queryKey: ["session"] });
      void client.invalidateQueries({ queryKey: ["sessions"] });
      await onDone(changed);
    },
  });
}

const NAMES: Readonly<Record<Choice, string>> = {
  rules: "Leave it to the rules",
  private: "Private",
  team: "Share with the team",
};

interface ChoicesProps {
  readonly chosen: Choice | null;
  readonly hints: Readonly<Record<Choice, string>>;
  readonly onChoose: (choice: Choice) => void;
}

export function Choices({ chosen, hints, onChoose }: ChoicesProps) {
  const id = useId();
  return (
    <fieldset className="choices">
      <legend className="sr">Who sees it</legend>
      {(Object.keys(NAMES) as Choice[]).map((choice) => (
        <div key={choice}>
          <input
            type="radio"
            id={`${id}-${choice}`}
            name={id}
            aria-describedby={`${id}-${choice}-hint`}
            checked={chosen === choice}
            onChange={() => {
              onChoose(choice);
            }}
          />
          <label htmlFor={`${id}-${choice}`}>{NAMES[choice]}</label>
          <span id={`${id}-${choice}-hint`} className="meta">
            {hints[choice]}
          </span>
        </div>
      ))}
    </fieldset>
  );
}
