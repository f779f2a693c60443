/** Hooks as chips under what they ran for; open one for what it said. */

import type { HookCommand, HookItem } from "@/api/types";
import { formatClock, formatDuration } from "@/lib/format";
import { printJson } from "@/lib/json";
import { showControls } from "@/lib/visible";
import { Output } from "@/ui/code";
import { Icon } from "@/ui/icons";

import { useFold } from "../context";

interface Chip {
  readonly key: string;
  readonly event: string;
  readonly name: string | null;
  readonly outcome: string | null;
  readonly bad: boolean;
  readonly running: boolean;
  readonly text: string;
}

/** One for each command that ran; for an event without any, one for the event. */
export function chipsOf(hooks: readonly HookItem[]): Chip[] {
  return hooks.flatMap((hook) =>
    hook.commands.length === 0
      ? [eventChip(hook)]
      : hook.commands.map((command, at) => commandChip(hook, command, at)),
  );
}

function eventChip(hook: HookItem): Chip {
  return {
    key: String(hook.id),
    event: hook.event_name,
    name: hook.label === hook.event_name ? null : hook.label,
    outcome: formatClock(hook.at) || null,
    bad: false,
    running: false,
    text: hook.context === null ? "" : printJson(hook.context),
  };
}

function commandChip(hook: HookItem, command: HookCommand, at: number): Chip {
  const { exit_code: code, duration_ms: took, outcome } = command;
  const bad = (code !== null && code !== 0) || outcome === "failed" || outcome === "blocked";
  const running = outcome === "running";
  return {
    key: `${hook.id}-${at}`,
    event: hook.event_name,
    name: command.name,
    outcome: bad
      ? code !== null && code !== 0
        ? `exit ${code}`
        : outcome
      : running
        ? "running"
        : took === null
          ? null
          : took < 1000
            ? `${took} ms`
            : formatDuration(took),
    bad,
    running,
    text: [command.command, command.output].filter((part) => part !== null && part !== "").join("\n"),
  };
}

export function HookChips({ id, hooks }: { readonly id: string; readonly hooks: readonly HookItem[] }) {
  const chips = chipsOf(hooks);
  return (
    <div className="hooks" role="group" aria-label="Hooks">
      {chips.map((chip) => (
        <HookChip key={chip.key} id={`${id}-${chip.key}`} chip={chip} />
      ))}
    </div>
  );
}

function HookChip({ id, chip }: { readonly id: string; readonly chip: Chip }) {
  const [open, toggle] = useFold(id);
  const content = (
    <>
      <Icon name={chip.running ? "hookp" : "hook"} />
      <b>{showControls(chip.event)}</b>
      {chip.name !== null && <span className="clip">{showControls(chip.name)}</span>}
      {chip.outcome !== null && <span>· {showControls(chip.outcome)}</span>}
    </>
  );
  const classes = chip.bad ? "hk bad" : "hk";
  if (chip.text === "") return <span className={classes}>{content}</span>;
  return (
    <>
      <button type="button" className={classes} aria-expanded={open} onClick={toggle}>
        {content}
      </button>
      {open && (
        <div className="hk-in">
          <Output text={chip.text} wrap />
        </div>
      )}
    </>
  );
}
