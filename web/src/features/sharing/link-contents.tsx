/** What whoever has a link will read, and what they will not. */

import type { LinkPreview } from "@/api/sharing";
import { TAKEN_OUT } from "@/lib/export-options";
import { formatCount, formatCounted } from "@/lib/format";
import { toolName } from "@/lib/names";
import { showControls } from "@/lib/visible";
import { Skeleton } from "@/ui/skeleton";

const MOST_TOOLS = 8;
const MOST_FILES = 12;

export function LinkContents({ preview }: { readonly preview: LinkPreview | undefined }) {
  return (
    <section className="shows" aria-label="What the link shows" aria-busy={preview === undefined}>
      {preview === undefined ? <Skeleton rows={4} shape="turn" /> : <Contents preview={preview} />}
    </section>
  );
}

function Contents({ preview }: { readonly preview: LinkPreview }) {
  const { messages, agents, calls, tools, files, redacted, excerpts, project } = preview;
  const counts = [
    formatCounted(messages, "message"),
    formatCounted(calls, "call"),
    ...(agents > 0 ? [formatCounted(agents, "sub-agent")] : []),
  ];
  return (
    <>
      <dl>
        <Shown name="Shows">
          <b>
            <bdi>{showControls(preview.title)}</bdi>
          </b>
          {project !== null && (
            <>
              {" "}
              in <bdi>{showControls(project)}</bdi>
            </>
          )}
          : {counts.join(", ")}, and anything added while the link is valid.
        </Shown>
        {tools.length > 0 && (
          <Shown name="Tools">
            {tools
              .slice(0, MOST_TOOLS)
              .map(([name, times]) => `${toolName(name).name} ${formatCount(times)}`)
              .join(", ")}
            {tools.length > MOST_TOOLS && ` and ${formatCount(tools.length - MOST_TOOLS)} more`}
          </Shown>
        )}
        <Shown name="Removed">
          {redacted.length === 0
            ? "Nothing in it looks like a secret. Check it before you share it anyway."
            : redacted.map(([kind, times]) => countKind(kind, times)).join(", ")}
        </Shown>
      </dl>
      {files.length > 0 && (
        <details>
          <summary>{formatCounted(files.length, "file")} named in it</summary>
          <ul className="paths">
            {files.slice(0, MOST_FILES).map((path) => (
              <li key={path}>
                <code>{showControls(path)}</code>
              </li>
            ))}
            {files.length > MOST_FILES && <li>and {formatCount(files.length - MOST_FILES)} more</li>}
          </ul>
        </details>
      )}
      {excerpts.length > 0 && (
        <details>
          <summary>How it begins, as the link shows it</summary>
          <ol className="excerpts">
            {excerpts.map((text, at) => (
              <li key={at}>
                <bdi>{showControls(text)}</bdi>
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

function Shown({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function countKind(kind: string, times: number): string {
  return `${formatCount(times)} ${TAKEN_OUT[kind]?.[times === 1 ? 0 : 1] ?? kind}`;
}
