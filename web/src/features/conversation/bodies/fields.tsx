/** Keys and values: what tools are given that have no form of their own. */

import { isRecord, printJson } from "@/lib/json";
import { showControls } from "@/lib/visible";
import { Output } from "@/ui/code";

const LONGEST_FIELD = 2000;
const MOST_FIELDS = 40;

/** An argument that only repeats what the row says is left out. */
export function Fields({ value, title }: { readonly value: unknown; readonly title: string }) {
  if (!isRecord(value)) return value == null ? null : <Output text={printJson(value)} wrap language="json" />;
  const fields = Object.entries(value);
  const [only] = fields;
  if (!only || (fields.length === 1 && only[1] === title)) return null;
  return (
    <div className="block">
      <dl className="kv">
        {fields.slice(0, MOST_FIELDS).map(([name, field]) => (
          <Field key={name} name={name} value={field} />
        ))}
      </dl>
      {fields.length > MOST_FIELDS && (
        <p className="morebar">{fields.length - MOST_FIELDS} more; the raw line has them all.</p>
      )}
    </div>
  );
}

function Field({ name, value }: { readonly name: string; readonly value: unknown }) {
  const text = printJson(value) as string | undefined;
  const cut = text !== undefined && text.length > LONGEST_FIELD ? `${text.slice(0, LONGEST_FIELD)}…` : text;
  return (
    <>
      <dt>{showControls(name)}</dt>
      <dd>{showControls(cut ?? "")}</dd>
    </>
  );
}
