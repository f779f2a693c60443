/** Buttons, chips and switches. */

import type { ButtonHTMLAttributes, ReactNode } from "react";

import { Icon } from "./icons";
import type { IconName } from "./icons";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement>;

export function Button({ className = "", ...rest }: ButtonProps) {
  return <button type="button" className={`btn ${className}`.trimEnd()} {...rest} />;
}

interface IconButtonProps extends ButtonProps {
  readonly icon: IconName;
  /** What it does; shown as a tip, and read out. */
  readonly label: string;
}

export function IconButton({ icon, label, className = "", ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className={`icon-b ${className}`.trimEnd()}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}

interface ChipProps {
  readonly pressed: boolean;
  readonly onToggle: () => void;
  readonly icon?: IconName;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Chip({ pressed, onToggle, icon, className = "", children }: ChipProps) {
  return (
    <button type="button" className={`chip ${className}`.trimEnd()} aria-pressed={pressed} onClick={onToggle}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface SegmentsProps<T extends string> {
  readonly label: string;
  readonly options: readonly (readonly [value: T, label: string])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** A few choices of which one holds. */
export function Segments<T extends string>({ label, options, value, onChange }: SegmentsProps<T>) {
  return (
    <div className="seg" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          onClick={() => {
            onChange(option);
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
