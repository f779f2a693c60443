/** The page's glyphs: 16 px, drawn in the colour of the text around them. */

import type { ReactNode } from "react";

const SHAPES = {
  bash: <path d="M3 4.5 6.5 8 3 11.5M8.5 11.5H13" />,
  read: <path d="M3.8 2.5h5.4l3 3v8H3.8zM9 2.7v3h3M6 8.7h4M6 11h2.6" />,
  write: <path d="M3.8 2.5h5.4l3 3v8H3.8zM8 7.2v4M6 9.2h4" />,
  edit: <path d="m3 13 .7-2.8 7-7a1.3 1.3 0 0 1 1.8 0l.3.3a1.3 1.3 0 0 1 0 1.8l-7 7zM9.6 4.4l2 2" />,
  grep: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  glob: <path d="M8 3v10M3.7 5.5l8.6 5M12.3 5.5l-8.6 5" />,
  todo: <path d="m2.3 4.3 1.3 1.3L6 3.2M8.5 4.5h5M2.3 10.9l1.3 1.3L6 9.8M8.5 11h5" />,
  web: (
    <>
      <circle cx="8" cy="8" r="5.6" />
      <path d="M2.4 8h11.2M8 2.4c-3.4 3.4-3.4 7.8 0 11.2 3.4-3.4 3.4-7.8 0-11.2" />
    </>
  ),
  mcp: <path d="M6 2.3v3M10 2.3v3M4 5.3h8v2.4a4 4 0 0 1-8 0zM8 11.7v2" />,
  agent: (
    <>
      <circle cx="4.5" cy="3.9" r="1.7" />
      <circle cx="11.6" cy="12" r="1.7" />
      <path d="M4.5 5.6v2.9A3.5 3.5 0 0 0 8 12h1.9" />
    </>
  ),
  skill: <path d="m8 2 1.7 4.3L14 8 9.7 9.7 8 14 6.3 9.7 2 8l4.3-1.7z" />,
  hook: (
    <>
      <circle cx="10.5" cy="3.2" r="1.2" />
      <path d="M10.5 4.4v5.4a3.2 3.2 0 0 1-6.4 0V8.6l2 1.6" />
    </>
  ),
  hookp: (
    <>
      <circle cx="10.5" cy="3.2" r="1.2" />
      <path strokeDasharray="1.6 2" d="M10.5 4.4v5.4a3.2 3.2 0 0 1-6.4 0V8.2" />
    </>
  ),
  error: <path d="M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM6 6l4 4M10 6l-4 4" />,
  system: (
    <>
      <circle cx="8" cy="8" r="5.2" />
      <circle cx="8" cy="8" r="1" />
    </>
  ),
  snapshot: <path d="M5.5 5.5h8v8h-8zM2.5 10.5v-8h8" />,
  queue: <path d="M2.5 4h11M2.5 8h7.5M2.5 12h4" />,
  builtin: <rect x="3.5" y="3.5" width="9" height="9" rx="1.5" />,
  think: <path d="M2.5 8c1.2-2.2 2.5-2.2 3.7 0s2.4 2.2 3.6 0 2.5-2.2 3.7 0" />,
  ask: (
    <>
      <path d="M6 6.1A2.1 2.1 0 1 1 8.9 8c-.6.3-.9.7-.9 1.4M8 11.9v.1" />
      <circle cx="8" cy="8" r="6" />
    </>
  ),
  plan: <path d="M4 14V3c2.3-1.2 3.7.9 6 .2.9-.2 1.4-.5 2-.6v6.6c-2.3.6-3.7-.9-6-.3-.8.2-1.4.5-2 .7" />,
  unknown: (
    <>
      <circle cx="8" cy="8" r="5.8" strokeDasharray="2.2 2.2" />
      <path d="M8 10.8v.1M6.6 6.4A1.5 1.5 0 1 1 8.7 7.8c-.5.2-.7.5-.7 1" />
    </>
  ),
  compact: <path d="M8 1.8v4M6 4.2l2 2 2-2M8 14.2v-4M6 11.8l2-2 2 2M2.5 8h11" />,
  branch: (
    <>
      <circle cx="4.5" cy="3.7" r="1.6" />
      <circle cx="4.5" cy="12.3" r="1.6" />
      <circle cx="11.5" cy="5.7" r="1.6" />
      <path d="M4.5 5.3v5.4M11.5 7.3c0 2.4-3 2.2-6 3.8" />
    </>
  ),
  right: <path d="m6 4 4 4-4 4" />,
  down: <path d="m4 6 4 4 4-4" />,
  left: <path d="m10 4-4 4 4 4" />,
  x: <path d="m4.5 4.5 7 7M11.5 4.5l-7 7" />,
  check: <path d="m3.5 8.5 3 3 6-7" />,
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 5.5V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5" />
    </>
  ),
  link: (
    <path d="M6.8 9.2 9.2 6.8M7.2 4.6l1.3-1.3a2.95 2.95 0 0 1 4.2 4.2l-1.3 1.3M8.8 11.4l-1.3 1.3a2.95 2.95 0 0 1-4.2-4.2l1.3-1.3" />
  ),
  braces: (
    <path d="M6 2.5c-1.6 0-2 .7-2 2v1.7C4 7.3 3.5 8 2.5 8 3.5 8 4 8.7 4 9.8v1.7c0 1.3.4 2 2 2M10 2.5c1.6 0 2 .7 2 2v1.7c0 1.1.5 1.8 1.5 1.8-1 0-1.5.7-1.5 1.8v1.7c0 1.3-.4 2-2 2" />
  ),
  star: <path d="m8 2.2 1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4l-3.6 1.9.7-4-2.9-2.8 4-.6z" />,
  tag: <path d="M2.5 3v4.3l6.2 6.2 4.8-4.8-6.2-6.2H3zM5.4 5.4h.01" />,
  bell: <path d="M4 7a4 4 0 0 1 8 0c0 3.2 1.3 4.2 1.3 4.2H2.7S4 10.2 4 7M6.7 13.3a1.4 1.4 0 0 0 2.6 0" />,
  sun: (
    <>
      <circle cx="8" cy="8" r="2.9" />
      <path d="M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1" />
    </>
  ),
  half: (
    <>
      <circle cx="8" cy="8" r="5.4" />
      <path d="M8 2.6a5.4 5.4 0 0 1 0 10.8z" fill="currentColor" stroke="none" />
    </>
  ),
  moon: <path d="M13 9.7A5.5 5.5 0 0 1 6.3 3a5.5 5.5 0 1 0 6.7 6.7" />,
  end: <path d="M8 2.5v8M4.7 7.5 8 10.8l3.3-3.3M4 13.5h8" />,
  panel: (
    <>
      <rect x="2.5" y="3" width="11" height="10" rx="1.5" />
      <path d="M9.8 3v10" />
    </>
  ),
  outline: <path d="M3 4h.01M6 4h7M3 8h.01M6 8h7M3 12h.01M6 12h7" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2" />,
  ext: <path d="M9.5 3H13v3.5M13 3 7.5 8.5M11 9.5V13H3V5h3.5" />,
  dl: <path d="M8 2.5v7.5M5 7.2 8 10.2l3-3M3 13.3h10" />,
  table: (
    <>
      <rect x="2.5" y="3" width="11" height="10" rx="1.2" />
      <path d="M2.5 6.3h11M2.5 9.7h11M6.5 6.3V13" />
    </>
  ),
  file: <path d="M3.8 2.5h5.4l3 3v8H3.8zM9 2.7v3h3" />,
  person: (
    <>
      <circle cx="8" cy="5.2" r="2.7" />
      <path d="M2.8 13.6a5.2 5.2 0 0 1 10.4 0" />
    </>
  ),
  pause: <path d="M5.5 4v8M10.5 4v8" strokeWidth="1.8" />,
} as const satisfies Record<string, ReactNode>;

export type IconName = keyof typeof SHAPES;

/** A glyph beside a label; it says nothing by itself, so it is hidden from screen readers. */
export function Icon({ name, className = "" }: { readonly name: IconName; readonly className?: string }) {
  return (
    <svg className={`i ${className}`.trimEnd()} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
}

export function Brand() {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <path
        d="M5 2.5v15M5 6.5h9.5M5 13.5h4.5"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.8"
        strokeLinecap="round"
      />
      <circle cx="14" cy="13.5" r="2.6" className="brand-dot" />
    </svg>
  );
}
