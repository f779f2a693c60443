/** A key as it is printed on the page: `g s` is two caps, `Enter` is its sign. */

const SIGNS: Readonly<Record<string, string>> = { Enter: "↵", Escape: "esc", " ": "space" };

export function KeyCap({ keys }: { readonly keys: string }) {
  const parts = keys === " " ? [keys] : keys.split(" ");
  return parts.map((part, at) => <kbd key={at}>{SIGNS[part] ?? part}</kbd>);
}
