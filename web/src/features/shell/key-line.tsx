import { useQuery } from "@tanstack/react-query";
import { useLocation } from "wouter";

import { boardQuery } from "@/api/board";
import { liveStatus } from "@/api/live";
import { useStore } from "@/state/binding";
import { bindings } from "@/state/keys";
import type { Binding } from "@/state/keys";
import { keyLine } from "@/state/settings";
import { useClock } from "@/state/use-clock";
import { KeyCap } from "@/ui/keycap";

interface Hint {
  readonly label: string;
  readonly keys: readonly string[];
}

/** What counts on this page, at its foot. */
export function KeyLine() {
  const tables = useStore(bindings);
  const shown = useStore(keyLine) === "shown";
  const [path] = useLocation();
  if (!shown) return null;
  return (
    <div className="keys" aria-hidden="true">
      {hintsOf(tables.toReversed().flat()).map((hint) => (
        <span key={hint.label}>
          {hint.keys.map((keys) => (
            <KeyCap key={keys} keys={keys} />
          ))}{" "}
          {hint.label}
        </span>
      ))}
      <div className="grow" />
      {path.startsWith("/mission-control") && <Freshness />}
      <span>
        <KeyCap keys="?" /> all keys
      </span>
    </div>
  );
}

/** How old the board is. What the server tells by itself counts from when it was last heard of. */
function Freshness() {
  const { dataUpdatedAt } = useQuery(boardQuery());
  const live = useStore(liveStatus) === "open";
  const age = useClock((now) => Math.max(0, Math.floor((now - dataUpdatedAt) / 1000)));
  if (dataUpdatedAt === 0) return null;
  return (
    <span className="quiet">
      {live ? "live" : "not live"}, updated {age < 2 ? "now" : `${formatAge(age)} ago`}
    </span>
  );
}

function formatAge(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} m`;
}

function hintsOf(all: readonly Binding[]): Hint[] {
  const hints = new Map<string, string[]>();
  for (const binding of all) {
    if (!binding.hinted) continue;
    const label = binding.group ?? binding.label;
    hints.set(label, [...(hints.get(label) ?? []), binding.keys]);
  }
  return [...hints].map(([label, keys]) => ({ label, keys }));
}
