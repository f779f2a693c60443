/** Markdown as the words that it marks up, for titles of one line. */

/** At the beginning of a line: headings, entries of lists, quotations. */
const LEADING = /^\s*(?:#{1,6}\s+|[-*+]\s+|\d{1,3}[.)]\s+|>\s*)+/;
const BOLD = /\*\*([^*\s](?:[^*]*[^*\s])?)\*\*/g;
const CODE = /(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/g;
const LINK = /!?\[([^\]]+)\]\((?:[^()\s]+)\)/g;

/** Names with underscores and stars of their own stay as they are: only what surely is a sign is taken out. */
export function plainTitle(text: string): string {
  return text
    .replace(LEADING, "")
    .replace(LINK, "$1")
    .replace(BOLD, "$1")
    .replace(CODE, (_, __, inner: string) => inner.trim());
}
