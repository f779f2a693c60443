/** What would be taken out of an export, and how often: told before anything is written. */

import { useQuery } from "@tanstack/react-query";

import { previewQuery } from "@/api/exporting";
import type { ExportPreview } from "@/api/exporting";
import { formatBytes, formatCount, formatCounted } from "@/lib/format";
import { TAKEN_OUT } from "@/lib/export-options";
import { showControls } from "@/lib/visible";
import { useSettled } from "@/state/use-settled";
import { Skeleton } from "@/ui/skeleton";

const TYPING_MS = 300;

/** As soon as nothing has been changed for a moment: all of the sessions are read for it. */
export function usePreview(query: string) {
  const settled = useSettled(query, TYPING_MS);
  const { data, error } = useQuery(previewQuery(settled));
  const current = settled === query;
  return { data: current ? data : undefined, error: current ? error : null };
}

interface PreviewProps {
  readonly preview: ExportPreview | undefined;
  readonly redact: boolean;
}

export function Preview({ preview, redact }: PreviewProps) {
  return (
    <section className="taken" aria-label="What is removed" aria-busy={preview === undefined}>
      {preview === undefined ? (
        <Skeleton rows={2} shape="turn" />
      ) : !redact ? (
        <p>
          <b>Nothing is removed.</b> Anyone who gets the file can read everything in it, including keys and
          passwords.
        </p>
      ) : preview.redacted.length === 0 ? (
        <p>
          Nothing in it looks like a secret, or says who or where you are. Check it before you share it anyway.
        </p>
      ) : (
        <Taken preview={preview} />
      )}
      {preview !== undefined && (
        <p className="meta">
          <bdi>{showControls(preview.name)}</bdi>, {formatBytes(preview.size)}
          {preview.sessions > 1 && " before compression"}
        </p>
      )}
    </section>
  );
}

function Taken({ preview }: { readonly preview: ExportPreview }) {
  return (
    <table>
      <caption className="sr">What is removed</caption>
      <thead className="sr">
        <tr>
          <th>Kind</th>
          <th>For example</th>
          <th>How often</th>
        </tr>
      </thead>
      <tbody>
        {preview.redacted.map(({ kind, times, values, examples }) => (
          <tr key={kind}>
            <th scope="row">
              {formatCount(values)} {TAKEN_OUT[kind]?.[values === 1 ? 0 : 1] ?? kind}
            </th>
            <td>
              <code className="clip">
                {showControls(examples.join(", "))}
                {values > examples.length && ", …"}
              </code>
            </td>
            <td className="num">{formatCounted(times, "time")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
