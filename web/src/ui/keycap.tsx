/** A key as it is printed on the page: `g s` is two caps, `Ctrl+K` is one, `Enter` is its sign. */

const SIGNS: Readonly<Record<string, string>> = {
  Enter: "↵",
  Escape: "esc",
  " ": "space",
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowLeft: "←",
  ArrowRight: "→",
  Backspace: "⌫",
  Tab: "tab",
};

export function KeyCap({ keys }: { readonly keys: string }) {
  const parts = keys === " " ? [keys] : keys.split(" ");
  return parts.map((part, at) => <kbd key={at}>{SIGNS[part] ?? nameOf(part)}</kbd>);
}

function nameOf(part: string): string {
  return part.length > 1 ? part.replace("+", " ") : part;
}
