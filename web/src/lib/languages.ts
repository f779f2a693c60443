/** Which language a text is in, told by its fence or by the name of its file; by the names of highlight.js. */

const BY_NAME: Readonly<Record<string, string>> = {
  bash: "bash",
  c: "c",
  cc: "cpp",
  conf: "ini",
  console: "bash",
  cpp: "cpp",
  cs: "csharp",
  csharp: "csharp",
  css: "css",
  cts: "typescript",
  diff: "diff",
  docker: "dockerfile",
  dockerfile: "dockerfile",
  go: "go",
  golang: "go",
  h: "c",
  hpp: "cpp",
  htm: "xml",
  html: "xml",
  astro: "xml",
  svelte: "xml",
  vue: "xml",
  ini: "ini",
  java: "java",
  javascript: "javascript",
  cjs: "javascript",
  mjs: "javascript",
  js: "javascript",
  json: "json",
  jsonc: "json",
  jsonl: "json",
  jsx: "javascript",
  kotlin: "kotlin",
  kt: "kotlin",
  lua: "lua",
  makefile: "makefile",
  mk: "makefile",
  markdown: "markdown",
  md: "markdown",
  mdx: "markdown",
  mts: "typescript",
  php: "php",
  pl: "perl",
  perl: "perl",
  ps1: "powershell",
  powershell: "powershell",
  py: "python",
  pyi: "python",
  python: "python",
  r: "r",
  rb: "ruby",
  ruby: "ruby",
  rs: "rust",
  rust: "rust",
  scss: "scss",
  sh: "bash",
  shell: "bash",
  sql: "sql",
  svg: "xml",
  swift: "swift",
  toml: "ini",
  ts: "typescript",
  tsx: "typescript",
  typescript: "typescript",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml",
  zsh: "bash",
};

export function languageOf(name: string | null): string | null {
  if (name === null) return null;
  const word =
    name
      .trim()
      .toLowerCase()
      .split(/[\s,{]/, 1)[0] ?? "";
  return Object.hasOwn(BY_NAME, word) ? (BY_NAME[word] ?? null) : null;
}

export function languageOfFile(path: string | null): string | null {
  const file = path?.split(/[\\/]/).at(-1)?.toLowerCase() ?? "";
  return (
    languageOf(file) ??
    languageOf(file.startsWith("dockerfile") ? "dockerfile" : (file.split(".").at(-1) ?? null))
  );
}
