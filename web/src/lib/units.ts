/** Python counts characters, JavaScript UTF-16 units: places that the server tells are converted. */

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Spans in characters as pairs in UTF-16 units. */
export function toUnits(text: string, spans: readonly Span[]): [start: number, end: number][] {
  // Without surrogates they are the same.
  if (!/[\ud800-\udfff]/.test(text)) return spans.map(({ start, end }) => [start, end]);
  const offsets = [0];
  for (const char of text) offsets.push((offsets.at(-1) ?? 0) + char.length);
  const at = (index: number) => offsets[Math.min(index, offsets.length - 1)] ?? text.length;
  return spans.map(({ start, end }) => [at(start), at(end)]);
}

/** One place in characters, in UTF-16 units. */
export function toUnit(text: string, index: number): number {
  return toUnits(text, [{ start: index, end: index }])[0]?.[0] ?? index;
}

type Marks = readonly (readonly [start: number, end: number])[];

const LEAD = 24;

/** For a single line: a text that begins shortly before its first mark, so that this is in sight. */
export function nearFirstMark(text: string, marks: Marks): { readonly title: string; readonly marks: Marks } {
  const first = marks[0]?.[0] ?? 0;
  const cut = first > LEAD ? text.lastIndexOf(" ", first - LEAD / 2) + 1 : 0;
  if (cut <= 0 || first - cut > 3 * LEAD) return { title: text, marks };
  return { title: `…${text.slice(cut)}`, marks: marks.map(([start, end]) => [start - cut + 1, end - cut + 1]) };
}
