/** Says of several sessions at once who sees them. */

import "@/styles/sharing.css";

import { useEffect, useId, useRef, useState } from "react";

import type { SessionItem } from "@/api/types";
import { formatCounted } from "@/lib/format";
import type { Choice } from "@/state/sharing";
import { Button } from "@/ui/controls";
import { Notice } from "@/ui/notice";

import { Choices, useVisibility } from "./visibility";

interface ShareManyProps {
  readonly sessions: readonly SessionItem[];
  /** Who looks: of other people's sessions only admins can say it. */
  readonly me: string | null;
  readonly admin: boolean;
  readonly onClose: () => void;
}

export function ShareMany({ sessions, me, admin, onClose }: ShareManyProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [choice, setChoice] = useState<Choice | null>(null);
  const [said, say] = useState("");
  const own = sessions.filter((session) => admin || session.person === me);
  const others = sessions.length - own.length;
  const change = useVisibility((changed) => {
    say(changed.length === 0 ? "Nothing changed." : `Changed for ${formatCounted(changed.length, "session")}.`);
    return Promise.resolve();
  });
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="ask sharing" aria-labelledby={`${id}-t`} onClose={onClose}>
      <h2 id={`${id}-t`}>Share</h2>
      <p className="subject">{formatCounted(own.length, "session")}</p>
      {others > 0 && (
        <p className="quiet">
          {formatCounted(others, "other one is", "others are")} not yours and will not change.
        </p>
      )}
      <Choices
        chosen={choice}
        hints={{
          rules: "Decided by the rules for their projects; private if no rule matches.",
          private: "Only their owners and admins; what admins view is recorded.",
          team: "Everyone who has an account here.",
        }}
        onChoose={setChoice}
      />
      {change.error && <Notice title="It could not be changed." detail={change.error.message} />}
      <p className="quiet" role="status">
        {said}
      </p>
      <footer>
        <span className="grow" />
        <Button onClick={() => dialog.current?.close()}>{said === "" ? "Cancel" : "Done"}</Button>
        <Button
          className="btn-solid"
          disabled={choice === null || own.length === 0 || change.isPending}
          onClick={() => {
            if (choice !== null) change.mutate({ keys: own.map(({ key }) => key), choice });
          }}
        >
          Change
        </Button>
      </footer>
    </dialog>
  );
}
