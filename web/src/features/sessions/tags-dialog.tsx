/** Gives tags to sessions, and takes them away. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";

import { facetsQuery } from "@/api/lists";
import type { MarksChange } from "@/api/client";
import type { SessionItem } from "@/api/types";
import { formatCounted } from "@/lib/format";
import { NO_FILTER } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { Button } from "@/ui/controls";
import { Icon } from "@/ui/icons";

interface TagsDialogProps {
  readonly sessions: readonly SessionItem[];
  readonly onMark: (sessions: readonly SessionItem[], change: MarksChange) => void;
  readonly onClose: () => void;
}

/** Tags have no blanks and no commas, and at most so many characters. */
const LONGEST = 64;

export function TagsDialog({ sessions, onMark, onClose }: TagsDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const id = useId();
  const known = useQuery(facetsQuery(NO_FILTER)).data?.tags ?? [];
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const tags = [...new Set(sessions.flatMap((session) => session.marks.tags))];
  const add = () => {
    const names = typed.split(/[\s,]+/u).filter((name) => name !== "" && name.length <= LONGEST);
    if (names.length > 0) onMark(sessions, { add_tags: names });
    setTyped("");
  };
  const only = sessions.length === 1 ? sessions[0] : undefined;
  return (
    <dialog ref={dialog} className="ask tagging" aria-labelledby={`${id}-t`} onClose={onClose}>
      <h2 id={`${id}-t`}>Tags</h2>
      <p className="clip subject">
        <bdi>
          {only ? showControls(only.title ?? only.session_id) : formatCounted(sessions.length, "session")}
        </bdi>
      </p>
      <ul className="tag-list">
        {tags.map((tag) => (
          <li key={tag}>
            <button
              type="button"
              className="tok"
              onClick={() => {
                onMark(sessions, { remove_tags: [tag] });
              }}
            >
              <span className="sr">Remove </span>
              <bdi className="clip">{showControls(tag)}</bdi>
              <Icon name="x" />
            </button>
          </li>
        ))}
      </ul>
      <form
        method="dialog"
        onSubmit={(event) => {
          // Enter adds what is typed; with nothing typed, it is done.
          if (typed.trim() === "") return;
          event.preventDefault();
          add();
        }}
      >
        <input
          type="text"
          list={`${id}-known`}
          aria-label="A new tag"
          placeholder="A new tag"
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
          }}
        />
        <datalist id={`${id}-known`}>
          {known
            .filter(({ name }) => !tags.includes(name))
            .map(({ name }) => (
              <option key={name} value={name} />
            ))}
        </datalist>
        <Button type="submit">{typed.trim() === "" ? "Done" : "Add"}</Button>
      </form>
    </dialog>
  );
}
