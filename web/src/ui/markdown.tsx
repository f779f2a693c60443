/**
 * Markdown of untrusted text as elements of our own making.
 *
 * No HTML is ever made of it, nothing is loaded, and no link is live: its target stands beside it as text, so
 * that it cannot hide where it leads.
 */

import type { Nodes, Parents, PhrasingContent, Table } from "mdast";
import { memo, useMemo } from "react";
import type { ReactNode } from "react";

import { parseMarkdown } from "@/lib/markdown";
import { guessProse, splitMarkdown } from "@/lib/pieces";
import { showControls } from "@/lib/visible";

import { CodeBlock } from "./code";
import { useDrawn } from "./use-drawn";

export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const pieces = useMemo(() => splitMarkdown(text), [text]);
  return (
    <div className="prose">
      {pieces.map((piece, at) => (
        <Piece key={at} text={piece} />
      ))}
    </div>
  );
});

/** What is long keeps its place until it is drawn. */
const Piece = memo(function Piece({ text }: { readonly text: string }) {
  const drawn = useDrawn(text.length);
  if (!drawn) return <div className="undrawn" style={{ height: guessProse(text) }} />;
  return childrenOf(parseMarkdown(text));
});

function childrenOf(node: Parents): ReactNode[] {
  return node.children.map((child, at) => <Node key={at} node={child} />);
}

function Node({ node }: { readonly node: Nodes }): ReactNode {
  switch (node.type) {
    case "text":
      return node.value;
    case "paragraph":
      return <p>{childrenOf(node)}</p>;
    case "heading":
      return node.depth <= 2 ? <h3>{childrenOf(node)}</h3> : <h4>{childrenOf(node)}</h4>;
    case "strong":
      return <strong>{childrenOf(node)}</strong>;
    case "emphasis":
      return <em>{childrenOf(node)}</em>;
    case "delete":
      return <del>{childrenOf(node)}</del>;
    case "inlineCode":
      return <code>{showControls(node.value)}</code>;
    case "code":
      return <CodeBlock text={node.value} language={node.lang ?? null} />;
    case "list":
      return node.ordered ? <ol start={node.start ?? 1}>{childrenOf(node)}</ol> : <ul>{childrenOf(node)}</ul>;
    case "listItem":
      return (
        <li className={node.checked == null ? undefined : "task"}>
          {node.checked != null && <input type="checkbox" checked={node.checked} disabled aria-label="Done" />}
          {node.children.map((child, at) =>
            child.type === "paragraph" && !node.spread ? childrenOf(child) : <Node key={at} node={child} />,
          )}
        </li>
      );
    case "blockquote":
      return <blockquote>{childrenOf(node)}</blockquote>;
    case "thematicBreak":
      return <hr />;
    case "break":
      return <br />;
    case "table":
      return <TableOf node={node} />;
    case "link":
      return <Address target={node.url} label={node.children} />;
    case "image":
      return <Address target={node.url} label={node.alt ? [{ type: "text", value: node.alt }] : []} />;
    case "linkReference":
    case "imageReference":
      return "children" in node ? childrenOf(node) : node.alt;
    case "definition":
      return (
        <p className="meta">
          [{node.label ?? node.identifier}]: {showControls(node.url)}
        </p>
      );
    case "footnoteReference":
      return <sup>{node.label ?? node.identifier}</sup>;
    case "footnoteDefinition":
      return (
        <div className="meta">
          {node.label ?? node.identifier}: {childrenOf(node)}
        </div>
      );
    case "html":
    case "yaml":
      return <span className="as-text">{showControls(node.value)}</span>;
    case "root":
    case "tableRow":
    case "tableCell":
      return childrenOf(node);
    default:
      return null;
  }
}

function Address({ target, label }: { readonly target: string; readonly label: readonly PhrasingContent[] }) {
  const shown = showControls(target);
  const plain = label.length === 1 && label[0]?.type === "text" ? label[0].value : null;
  if (label.length === 0 || plain === target) return <span className="addr">{shown}</span>;
  return (
    <>
      {label.map((child, at) => (
        <Node key={at} node={child} />
      ))}{" "}
      <span className="addr">{shown}</span>
    </>
  );
}

function TableOf({ node }: { readonly node: Table }) {
  const [head, ...body] = node.children;
  return (
    <div className="table">
      <table>
        <thead>
          <tr>
            {head?.children.map((cell, at) => (
              <th key={at}>{childrenOf(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row, at) => (
            <tr key={at}>
              {row.children.map((cell, column) => (
                <td key={column}>{childrenOf(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
