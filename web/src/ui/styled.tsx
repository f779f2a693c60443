/** Stretches of text with a style each, tidy and no longer than a line should be. */

import { tidy } from "./cut";

export interface StyledPart {
  readonly text: string;
  readonly style: string;
}

const MOST_PARTS = 400;

export function StyledLine({ parts }: { readonly parts: readonly StyledPart[] }) {
  // A line of thousands of stretches is a picture, not text: what is beyond is told as plain text.
  if (parts.length > MOST_PARTS) return tidy(parts.map((part) => part.text).join(""));
  return parts.map((part, at) =>
    part.style === "" ? (
      tidy(part.text)
    ) : (
      <span key={at} className={part.style}>
        {tidy(part.text)}
      </span>
    ),
  );
}
