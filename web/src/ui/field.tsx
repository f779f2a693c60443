/** A named field of a form, with what is to be known about it below. */

import { useId } from "react";
import type { ReactNode } from "react";

interface FieldProps {
  readonly name: string;
  readonly hint?: ReactNode;
  /** Given what ties the field to its name and its hint. */
  readonly children: (ties: { readonly id: string; readonly "aria-describedby": string }) => ReactNode;
}

export function Field({ name, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{name}</label>
      {children({ id, "aria-describedby": `${id}-hint` })}
      <p id={`${id}-hint`} className="meta">
        {hint}
      </p>
    </div>
  );
}
