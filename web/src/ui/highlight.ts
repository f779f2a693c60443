/** Marks words in text that is already drawn, without changing the document: the CSS Custom Highlight API. */

const MOST = 400;

/** Marks every word under `root`, whatever its case; returns the first range, or null. Style `::highlight(name)`. */
export function highlightWords(root: Node, words: readonly string[], name: string): Range | null {
  if (!("highlights" in CSS)) return null;
  const ranges = words.length > 0 ? findRanges(root, words) : [];
  CSS.highlights.set(name, new Highlight(...ranges));
  return ranges[0] ?? null;
}

export function clearHighlight(name: string): void {
  if ("highlights" in CSS) CSS.highlights.delete(name);
}

function findRanges(root: Node, words: readonly string[]): Range[] {
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const ranges: Range[] = [];
  while (walker.nextNode() && ranges.length < MOST) {
    const node = walker.currentNode;
    for (const match of (node.nodeValue ?? "").matchAll(pattern)) {
      const range = new Range();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      ranges.push(range);
    }
  }
  return ranges;
}
