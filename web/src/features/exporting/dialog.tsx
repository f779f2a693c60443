/** Gives sessions out as a file: in which form, what of them, and what is taken out before. */

import "@/styles/exporting.css";

import { useEffect, useId, useRef, useState } from "react";

import type { Branch } from "@/api/types";
import { formatBytes, formatCounted } from "@/lib/format";
import { EVERYTHING, exportQuery, FORMATS, hasParts, readTurn } from "@/lib/export-options";
import type { ExportFormat, ExportOptions } from "@/lib/export-options";
import { showControls } from "@/lib/visible";
import { Button, Segments } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";

import { Preview, usePreview } from "./preview";
import { useExport } from "./use-export";

interface ExportDialogProps {
  readonly sessions: readonly { readonly key: string; readonly name: string }[];
  /** Of the one session, if it is one. */
  readonly turns?: number;
  readonly branches?: readonly Branch[];
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

export function ExportDialog({ sessions, turns = 0, branches = [], onDone, onClose }: ExportDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [options, setOptions] = useState<ExportOptions>(EVERYTHING);
  const query = exportQuery(
    sessions.map(({ key }) => key),
    options,
  ).toString();
  const preview = usePreview(query);
  const { state, start, stop } = useExport((name) => {
    onDone(`${name} was saved`);
    dialog.current?.close();
  });
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const change = (part: Partial<ExportOptions>) => {
    setOptions((before) => ({ ...before, ...part }));
  };
  const [only] = sessions;
  const failure = state.error ?? preview.error;
  const blocked =
    options.first_turn !== null && options.last_turn !== null && options.first_turn > options.last_turn;
  return (
    <dialog
      ref={dialog}
      className="ask exporting"
      aria-labelledby={`${id}-t`}
      onClose={() => {
        stop();
        onClose();
      }}
    >
      <h2 id={`${id}-t`}>Export</h2>
      <p className="clip subject">
        <bdi>
          {sessions.length === 1 && only ? showControls(only.name) : formatCounted(sessions.length, "session")}
        </bdi>
      </p>
      <Format value={options.format} onChange={change} />
      <Parts options={options} onChange={change} />
      {sessions.length === 1 && <Range options={options} turns={turns} branches={branches} onChange={change} />}
      <Redaction options={options} onChange={change} />
      {failure ? (
        <Notice title="That is not possible." detail={failure.message} />
      ) : (
        <Preview preview={preview.data} redact={options.redact} />
      )}
      <footer>
        {state.bytes !== null && <Progress bytes={state.bytes} total={preview.data?.size ?? null} />}
        <span className="grow" />
        <Button onClick={() => dialog.current?.close()}>Cancel</Button>
        <Button
          className="btn-solid"
          disabled={state.bytes !== null || blocked || preview.error !== null}
          onClick={() => {
            start(query, preview.data?.name ?? `${only?.key ?? "sessions"}.${options.format}`);
          }}
        >
          <Icon name="dl" className="i-s" />
          Export
        </Button>
      </footer>
    </dialog>
  );
}

interface PartProps {
  readonly options: ExportOptions;
  readonly onChange: (part: Partial<ExportOptions>) => void;
}

function Format({
  value,
  onChange,
}: {
  readonly value: ExportFormat;
  readonly onChange: (part: Partial<ExportOptions>) => void;
}) {
  const names = Object.entries(FORMATS).map(([format, [name]]) => [format as ExportFormat, name] as const);
  return (
    <section>
      <Segments
        label="Format"
        options={names}
        value={value}
        onChange={(format) => {
          onChange({ format });
        }}
      />
      <p className="meta">{FORMATS[value][1]}</p>
    </section>
  );
}

const PARTS = [
  ["tool_output", "Tool output"],
  ["thinking", "Thinking"],
  ["agents", "Sub-agents"],
] as const;

function Parts({ options, onChange }: PartProps) {
  const possible = hasParts(options.format);
  return (
    <fieldset className="checks" disabled={!possible}>
      <legend>With</legend>
      {PARTS.map(([part, name]) => (
        <label key={part}>
          <input
            type="checkbox"
            checked={options[part] || !possible}
            onChange={(event) => {
              onChange({ [part]: event.currentTarget.checked });
            }}
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

interface RangeProps extends PartProps {
  readonly turns: number;
  readonly branches: readonly Branch[];
}

function Range({ options, turns, branches, onChange }: RangeProps) {
  if (turns < 2 && branches.length < 2) return null;
  const bounds = [
    ["first_turn", "From turn", "1"],
    ["last_turn", "to", String(turns)],
  ] as const;
  return (
    <fieldset className="range">
      <legend>Which part</legend>
      {turns > 1 &&
        bounds.map(([bound, name, all]) => (
          <label key={bound}>
            {name}
            <input
              type="number"
              min={1}
              max={turns}
              placeholder={all}
              value={options[bound] ?? ""}
              onChange={(event) => {
                onChange({ [bound]: readTurn(event.currentTarget.value) });
              }}
            />
          </label>
        ))}
      {branches.length > 1 && (
        <label className="branches">
          <span className="sr">Branch</span>
          <select
            value={options.branch ?? ""}
            onChange={(event) => {
              const { value } = event.currentTarget;
              onChange({ branch: value === "" ? null : Number(value) });
            }}
          >
            <option value="">All branches</option>
            {branches.map((branch) => (
              <option key={branch.index} value={branch.index}>
                Branch {branch.index + 1}
                {branch.active ? ", the newest" : ""}, {formatCounted(branch.messages, "message")}
              </option>
            ))}
          </select>
        </label>
      )}
    </fieldset>
  );
}

function Redaction({ options, onChange }: PartProps) {
  return (
    <fieldset className="checks redaction">
      <legend>Without</legend>
      <label>
        <input
          type="checkbox"
          checked={options.redact}
          onChange={(event) => {
            onChange({ redact: event.currentTarget.checked });
          }}
        />
        Secrets, and who and where you are
      </label>
      <input
        type="text"
        aria-label="Your own words to remove"
        placeholder="Your own words, separated by commas"
        autoComplete="off"
        spellCheck={false}
        maxLength={2000}
        disabled={!options.redact}
        value={options.words}
        onChange={(event) => {
          onChange({ words: event.currentTarget.value });
        }}
      />
    </fieldset>
  );
}

function Progress({ bytes, total }: { readonly bytes: number; readonly total: number | null }) {
  return (
    <label className="written" role="status">
      <progress max={total ?? undefined} value={total === null ? undefined : Math.min(bytes, total)} />
      <span className="meta">
        {formatBytes(bytes)}
        {total !== null && bytes <= total && ` of ${formatBytes(total)}`}
      </span>
    </label>
  );
}
