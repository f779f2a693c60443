/** Search or jump to: one field over every page, for all that can be gone to or done. */

import "@/styles/palette.css";

import { useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";

import { nextScope, readAsked } from "@/state/palette";
import type { Scope } from "@/state/palette";
import { useSettled } from "@/state/use-settled";
import { Icon } from "@/ui/icons";
import { KeyCap } from "@/ui/keycap";
import { Marked } from "@/ui/marked";
import { StateMark } from "@/ui/state-mark";

import { useSections } from "./use-entries";
import type { Choice } from "./use-entries";

const TYPING_MS = 80;

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState<Scope>("everything");
  const asked = readAsked(useSettled(typed, TYPING_MS), chosen);
  const { sections, waiting } = useSections(asked);
  const choices = sections.flatMap((section) => section.choices);
  const [current, setCurrent] = useState<string | null>(null);
  const at = Math.max(
    0,
    choices.findIndex((choice) => choice.id === current),
  );
  const active = choices[at];
  const id = useId();
  const [, navigate] = useLocation();

  useEffect(() => {
    const element = dialog.current;
    if (!element) return;
    element.showModal();
    // A click beside it closes it, as Escape does.
    const leave = (event: MouseEvent) => {
      if (event.target === element) element.close();
    };
    element.addEventListener("click", leave);
    return () => {
      element.removeEventListener("click", leave);
    };
  }, []);
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, id]);

  const take = (choice: Choice, elsewhere: boolean) => {
    dialog.current?.close();
    if (choice.path === undefined) choice.run?.();
    else if (elsewhere) window.open(choice.path, "_blank", "noopener");
    else navigate(choice.path);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const move = STEPS[event.key];
    if (move !== undefined && choices.length > 0) {
      event.preventDefault();
      setCurrent(choices[(at + move + choices.length) % choices.length]?.id ?? null);
    } else if (event.key === "Tab") {
      event.preventDefault();
      // What stands in the field counts, also if it is not looked for yet.
      const now = readAsked(typed, chosen);
      setChosen(nextScope(now.scope, event.shiftKey ? -1 : 1));
      setTyped(now.text);
    } else if (event.key === "Enter" && active && !event.nativeEvent.isComposing) {
      event.preventDefault();
      take(active, event.ctrlKey || event.metaKey);
    }
  };
  return (
    <dialog ref={dialog} className="pal" aria-label="Search or jump to" onClose={onClose}>
      <div className="pin">
        <Icon name="grep" />
        <input
          type="text"
          role="combobox"
          aria-label="Search or jump to"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={active ? `${id}-${at}` : undefined}
          aria-autocomplete="list"
          placeholder="Search or jump to"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            setCurrent(null);
          }}
          onKeyDown={onKeyDown}
        />
        <span className="meta" role="status">
          {asked.scope}
        </span>
        <KeyCap keys="Tab" />
      </div>
      <div className="plist" id={`${id}-list`} role="listbox" aria-label="Results">
        {sections.map((section) => (
          <div key={section.name} role="group" aria-label={section.name}>
            <div className="ph" role="presentation">
              {section.name}
            </div>
            {section.choices.map((choice) => (
              <Option
                key={choice.id}
                id={`${id}-${choices.indexOf(choice)}`}
                choice={choice}
                active={choice === active}
                onTake={(elsewhere) => {
                  take(choice, elsewhere);
                }}
              />
            ))}
          </div>
        ))}
        {choices.length === 0 && (
          <div className="pnone" role="option" aria-selected="false" aria-disabled="true">
            {waiting ? "Searching…" : "No matches."}
          </div>
        )}
      </div>
      <div className="pfoot" aria-hidden="true">
        <span>
          <kbd>&gt;</kbd> commands
        </span>
        <span>
          <kbd>@</kbd> projects
        </span>
        <span>
          <kbd>#</kbd> tags
        </span>
        <span>
          <kbd>ctrl ↵</kbd> new tab
        </span>
      </div>
    </dialog>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

interface OptionProps {
  readonly id: string;
  readonly choice: ReturnType<typeof useSections>["sections"][number]["choices"][number];
  readonly active: boolean;
  readonly onTake: (elsewhere: boolean) => void;
}

function Option({ id, choice, active, onTake }: OptionProps) {
  const title = <Marked text={choice.title} marks={choice.marks} />;
  return (
    // The keyboard stays in the field, which says by aria-activedescendant where it is.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={id}
      className="po"
      role="option"
      aria-selected={active}
      onClick={(event) => {
        onTake(event.ctrlKey || event.metaKey);
      }}
    >
      {choice.icon === undefined ? (
        <StateMark state={choice.state ?? null} />
      ) : (
        <span className={choice.colour}>
          <Icon name={choice.icon} />
        </span>
      )}
      {choice.code ? <code className="clip">{title}</code> : <span className="clip">{title}</span>}
      <span className="meta clip">{choice.detail}</span>
      <span className="pk">
        {choice.keys === undefined ? active && <kbd>↵</kbd> : <KeyCap keys={choice.keys} />}
      </span>
    </div>
  );
}
