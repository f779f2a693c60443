/** The languages that code is coloured in. Loaded when the first piece of code is in sight, and not before. */

import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import perl from "highlight.js/lib/languages/perl";
import php from "highlight.js/lib/languages/php";
import powershell from "highlight.js/lib/languages/powershell";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import scss from "highlight.js/lib/languages/scss";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

import type { CodeLine } from "./highlighter";

const lowlight = createLowlight({
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  lua,
  makefile,
  markdown,
  perl,
  php,
  powershell,
  python,
  r,
  ruby,
  rust,
  scss,
  sql,
  swift,
  typescript,
  xml,
  yaml,
});

/** The page has five colours for code; what highlight.js tells apart further is plain. */
const CLASSES: Readonly<Record<string, string>> = {
  "hljs-keyword": "k",
  "hljs-built_in": "f",
  "hljs-type": "f",
  "hljs-literal": "n0",
  "hljs-number": "n0",
  "hljs-string": "s",
  "hljs-regexp": "s",
  "hljs-char": "s",
  "hljs-subst": "",
  "hljs-symbol": "n0",
  "hljs-title": "f",
  "hljs-name": "k",
  "hljs-attr": "f",
  "hljs-attribute": "f",
  "hljs-selector-tag": "k",
  "hljs-selector-class": "f",
  "hljs-selector-id": "f",
  "hljs-comment": "cm",
  "hljs-doctag": "cm",
  "hljs-quote": "cm",
  "hljs-meta": "cm",
  "hljs-section": "k",
  "hljs-property": "f",
  "hljs-addition": "ag",
  "hljs-deletion": "ar",
  "hljs-variable": "f",
  "hljs-template-variable": "f",
};

interface Tree {
  readonly type: string;
  readonly value?: string;
  readonly properties?: { readonly className?: unknown };
  readonly children?: readonly Tree[];
}

export function colourLines(text: string, language: string): CodeLine[] {
  const lines: { text: string; style: string }[][] = [[]];
  const walk = (node: Tree, style: string): void => {
    if (node.type === "text") {
      (node.value ?? "").split("\n").forEach((part, n) => {
        if (n > 0) lines.push([]);
        if (part) lines.at(-1)?.push({ text: part, style });
      });
      return;
    }
    const own = node.properties?.className;
    const names: readonly unknown[] = Array.isArray(own) ? own : [];
    const known = names.map((name) => CLASSES[String(name)]).find((name) => name !== undefined);
    for (const child of node.children ?? []) walk(child, known ?? style);
  };
  walk(lowlight.highlight(language, text), "");
  return lines;
}
