/** What happened on a day, one sentence each. */

import { Link } from "wouter";

import type { AuditEntry } from "@/api/audit";
import { formatClock, formatMoment } from "@/lib/format";
import { peoplePath } from "@/lib/people-routes";
import type { AuditState } from "@/lib/people-routes";
import { sessionPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { detailOf, sentenceOf } from "@/state/audit";
import type { Part } from "@/state/audit";
import { IconButton } from "@/ui/controls";

interface DayProps {
  readonly day: string;
  readonly entries: readonly AuditEntry[];
  readonly onNarrow: (part: Partial<AuditState>) => void;
}

export function Day({ day, entries, onNarrow }: DayProps) {
  return (
    <section className="au-day" aria-label={day}>
      <h2>{day}</h2>
      <ol>
        {entries.map((entry) => (
          <li key={entry.id}>
            <time className="meta num" dateTime={entry.at} title={formatMoment(entry.at)}>
              {formatClock(entry.at)}
            </time>
            <span className="au-said">
              {sentenceOf(entry).map((part, at) => (
                <Piece key={at} part={part} />
              ))}
              {entry.detail !== "" && <span className="meta"> {showControls(detailOf(entry))}</span>}
            </span>
            {entry.session !== null && (
              <IconButton
                icon="grep"
                label="Only what concerns this session"
                onClick={() => {
                  onNarrow({ session: entry.session });
                }}
              />
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A session goes by no more than that: asking for its title would be a look at it, and recorded. */
function Piece({ part }: { readonly part: Part }) {
  if ("text" in part) return part.text;
  if ("session" in part) return <Link href={sessionPath(part.session)}>a session</Link>;
  return <Link href={peoplePath({ person: part.person })}>{part.person}</Link>;
}
