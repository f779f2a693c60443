/** The field in the top bar: narrows the list of sessions as one types. */

import { useEffect, useRef } from "react";
import { useLocation, useSearch } from "wouter";

import { parseFilter, sessionsPath } from "@/lib/routes";
import { Icon } from "@/ui/icons";
import { KeyCap } from "@/ui/keycap";

export const SEARCH_FIELD = "find-session";
const TYPING_MS = 150;

export function SearchField() {
  const [path, navigate] = useLocation();
  const search = useSearch();
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const listed = path === "/sessions";
  const filter = parseFilter(search);
  const text = listed ? (filter.text ?? "") : "";

  // The address is the truth: going back brings the text of then.
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = text;
  }, [text]);

  const go = (next: string, replace: boolean) => {
    clearTimeout(timer.current);
    navigate(sessionsPath({ ...(listed ? filter : parseFilter("")), text: next.trim() || null }), { replace });
  };
  return (
    <form
      className="jump"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go(field.current?.value ?? "", listed);
      }}
    >
      <Icon name="grep" className="i-s" />
      <input
        ref={field}
        id={SEARCH_FIELD}
        type="search"
        placeholder="Find a session"
        aria-label="Find a session by its title"
        autoComplete="off"
        spellCheck={false}
        defaultValue={text}
        onChange={(event) => {
          const { value } = event.currentTarget;
          clearTimeout(timer.current);
          if (listed) {
            timer.current = setTimeout(() => {
              go(value, true);
            }, TYPING_MS);
          }
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.currentTarget.value = "";
          event.currentTarget.blur();
          if (listed && text) go("", true);
        }}
      />
      <KeyCap keys="/" />
    </form>
  );
}
