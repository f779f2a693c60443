/** Markdown as a tree. Its HTML stays text: the tree says so, and the page never makes markup of strings. */

import type { Nodes, Parents, Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";

/** A piece longer than this, that nothing divides, is shown as it is: parsing it would be felt. */
export const LONGEST_PARSED = 20_000;
const MOST_KEPT = 300;

const kept = new Map<string, Root>();

/** Parses a text, or remembers it: rows come back into sight again and again. */
export function parseMarkdown(text: string): Root {
  const known = kept.get(text);
  if (known) return known;
  const root = text.length > LONGEST_PARSED ? plain(text) : parse(text);
  if (kept.size >= MOST_KEPT) {
    const [oldest] = kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
  }
  kept.set(text, root);
  return root;
}

function parse(text: string): Root {
  try {
    const root = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
    flatten(root, text);
    return root;
  } catch (error) {
    // Text can be made that no parser survives; it is still text.
    if (error instanceof RangeError) return plain(text);
    throw error;
  }
}

/** Nobody nests as deep as this by hand, and elements as deep as some can be nested would break the page. */
const DEEPEST = 24;

/** Makes plain text of what is nested too deep. */
function flatten(root: Root, text: string): void {
  const open: { readonly node: Parents; readonly depth: number }[] = [{ node: root, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    if (depth === DEEPEST) {
      const { start, end } = node.position ?? {};
      const value = text.slice(start?.offset ?? 0, end?.offset ?? 0);
      (node.children as Nodes[]) = [{ type: "text", value }];
      continue;
    }
    for (const child of node.children) if ("children" in child) open.push({ node: child, depth: depth + 1 });
  }
}

function plain(text: string): Root {
  return { type: "root", children: [{ type: "code", value: text }] };
}
