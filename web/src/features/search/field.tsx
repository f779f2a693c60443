/** The field: words are typed, filters stand in it as tokens, and what is being written is completed. */

import { useId, useRef, useState } from "react";
import type { ReactNode, RefObject } from "react";

import type { Hit } from "@/api/types";
import { useTeam } from "@/state/use-me";
import { showControls } from "@/lib/visible";
import { beginningNames, makeToken, openFilter, readToken, TEAM_FILTERS, withoutLastWord } from "@/state/query";
import type { FieldState, Filter, Token } from "@/state/query";
import { Icon } from "@/ui/icons";

import { useValues } from "./use-values";

export interface FieldProps {
  readonly state: FieldState;
  readonly input: RefObject<HTMLInputElement | null>;
  readonly hits: readonly Hit[];
  /** Which token the server did not understand, if any. */
  readonly wrong: number | null;
  readonly invalid: boolean;
  readonly errorId: string;
  readonly onType: (state: FieldState) => void;
  readonly onChoose: (state: FieldState) => void;
  readonly onMove: (step: 1 | -1) => void;
  readonly onOpen: (elsewhere: boolean) => void;
  readonly children: ReactNode;
}

export function Field(props: FieldProps) {
  const { state, input, hits, wrong, invalid, errorId, onType, onChoose, onMove, onOpen, children } = props;
  const [focused, setFocused] = useState(false);
  const [shut, setShut] = useState(false);
  const [active, setActive] = useState(0);
  const team = useTeam() !== null;
  const open = openFilter(state.text);
  const values = useValues(open?.name ?? null, open?.begun ?? "", hits);
  const listed = focused && !shut && open !== null && values.length > 0;
  const chosen = Math.min(active, values.length - 1);
  const id = useId();
  const tokens = useRef<HTMLSpanElement>(null);

  const drop = (index: number) => {
    onChoose({ ...state, tokens: state.tokens.filter((_, at) => at !== index) });
    input.current?.focus();
  };
  const take = (value: string) => {
    if (!open) return;
    const token = makeToken(open.name, value, open.negated);
    onChoose({ tokens: [...state.tokens, token], text: withoutLastWord(state.text) });
    input.current?.focus();
  };
  /** Finishes what is begun: a value from the list, a filter as it is written, or a filter's name. */
  const complete = (): boolean => {
    const value = listed ? values[chosen] : undefined;
    const token =
      value === undefined ? readToken(open ? state.text.slice(withoutLastWord(state.text).length) : "") : null;
    const [name] = beginningNames(state.text, team);
    if (value !== undefined) take(value);
    else if (token) onChoose({ tokens: [...state.tokens, token], text: withoutLastWord(state.text) });
    else if (name && !open) onType({ ...state, text: `${withoutLastWord(state.text)}${name}:` });
    else return false;
    return true;
  };
  const onKeyDown = (event: React.KeyboardEvent<HTMLInputElement>) => {
    if (event.nativeEvent.isComposing) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : null;
    const caret = event.currentTarget.selectionStart === 0 && event.currentTarget.selectionEnd === 0;
    if (step !== null) {
      event.preventDefault();
      if (listed) setActive((chosen + step + values.length) % values.length);
      else onMove(step);
    } else if (event.key === "Tab" && !event.shiftKey && complete()) {
      event.preventDefault();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!(open && complete())) onOpen(event.ctrlKey || event.metaKey);
    } else if (event.key === "Backspace" && caret && state.tokens.length > 0) {
      event.preventDefault();
      drop(state.tokens.length - 1);
    } else if (event.key === "ArrowLeft" && caret && state.tokens.length > 0) {
      event.preventDefault();
      tokens.current?.querySelector<HTMLElement>("button:last-of-type")?.focus();
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (listed) setShut(true);
      else if (state.text !== "") onType({ ...state, text: "" });
      else event.currentTarget.blur();
    }
  };
  return (
    <div className="q">
      <Icon name="grep" />
      <input
        ref={input}
        id="search-field"
        type="text"
        role="combobox"
        aria-label="Search everything"
        aria-expanded={listed}
        aria-controls={`${id}-values`}
        aria-activedescendant={listed ? `${id}-${chosen}` : undefined}
        aria-autocomplete="list"
        aria-invalid={invalid || undefined}
        aria-describedby={invalid ? errorId : undefined}
        placeholder={state.tokens.length > 0 ? "and …" : "Search everything that was said, thought and done"}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={state.text}
        onChange={(event) => {
          setShut(false);
          setActive(0);
          onType({ ...state, text: event.currentTarget.value });
        }}
        onFocus={() => {
          setFocused(true);
        }}
        onBlur={() => {
          setFocused(false);
        }}
        onKeyDown={onKeyDown}
      />
      <span className="toks" ref={tokens}>
        {state.tokens.map((token, at) => (
          <TokenButton
            key={token.raw}
            token={token}
            wrong={at === wrong}
            onDrop={() => {
              drop(at);
            }}
          />
        ))}
      </span>
      {children}
      <div className="vals" id={`${id}-values`} role="listbox" aria-label="Values" hidden={!listed}>
        {listed &&
          values.map((value, at) => (
            // The keyboard stays in the field.
            // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
            <div
              key={value}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === chosen}
              onMouseDown={(event) => {
                event.preventDefault();
              }}
              onClick={() => {
                take(value);
              }}
            >
              <span>{open.name}</span> {showControls(value)}
            </div>
          ))}
      </div>
    </div>
  );
}

interface TokenButtonProps {
  readonly token: Token;
  readonly wrong: boolean;
  readonly onDrop: () => void;
}

function TokenButton({ token, wrong, onDrop }: TokenButtonProps) {
  return (
    <button
      type="button"
      className={wrong ? "tok wrong" : "tok"}
      title={token.raw}
      onClick={onDrop}
      onKeyDown={(event) => {
        if (event.key !== "Backspace" && event.key !== "Delete") return;
        event.preventDefault();
        onDrop();
      }}
    >
      <span className="sr">Remove </span>
      <span>{token.negated ? `not ${token.name}` : token.name}</span>
      <bdi className="clip">{showControls(token.value)}</bdi>
      <Icon name="x" />
    </button>
  );
}

const USUAL: readonly Filter[] = [
  "kind",
  "tool",
  "is",
  "file",
  "project",
  "model",
  "branch",
  "agent",
  "after",
  "before",
];

/** Filters that can be added; those that the last word begins come alone. */
export function NarrowBy({
  state,
  onName,
}: {
  readonly state: FieldState;
  readonly onName: (name: Filter) => void;
}) {
  const team = useTeam() !== null;
  const begun = beginningNames(state.text, team);
  const names: readonly Filter[] = begun.length > 0 ? begun : team ? [...USUAL, ...TEAM_FILTERS] : USUAL;
  return (
    <>
      <span className="lab">Narrow by</span>
      {names.map((name, at) => (
        <button
          key={name}
          type="button"
          className="chip"
          onClick={() => {
            onName(name);
          }}
        >
          {name}
          {begun.length > 0 && at === 0 && <kbd>tab</kbd>}
        </button>
      ))}
    </>
  );
}
