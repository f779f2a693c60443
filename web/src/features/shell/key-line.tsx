import { useStore } from "@/state/binding";
import { bindings } from "@/state/keys";
import type { Binding } from "@/state/keys";
import { keyLine } from "@/state/settings";
import { KeyCap } from "@/ui/keycap";

interface Hint {
  readonly label: string;
  readonly keys: readonly string[];
}

/** What counts on this page, at its foot. */
export function KeyLine() {
  const tables = useStore(bindings);
  const shown = useStore(keyLine) === "shown";
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
      <span>
        <KeyCap keys="?" /> all keys
      </span>
    </div>
  );
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
