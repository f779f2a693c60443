/** All actions of a filter as a file, also those that are not loaded. */

import { listActions } from "@/api/actions";
import type { Action } from "@/api/actions";
import type { ActionFilter } from "@/lib/action-filter";
import { writeCsv } from "@/lib/csv";
import { downloadText } from "@/lib/download";

const COLUMNS = [
  "at",
  "category",
  "name",
  "title",
  "outcome",
  "state",
  "duration_ms",
  "turn",
  "message",
  "message_uuid",
  "source",
  "agent_id",
] as const satisfies readonly (keyof Action)[];

export async function saveActions(
  session: string,
  filter: ActionFilter,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const rows: (string | number | null)[][] = [[...COLUMNS]];
  let cursor: string | null = null;
  do {
    const page = await listActions(session, filter, cursor);
    for (const action of page.items)
      rows.push(
        COLUMNS.map((name) => (name === "turn" && action.turn !== null ? action.turn + 1 : action[name])),
      );
    onProgress(rows.length - 1, page.total);
    cursor = page.next;
  } while (cursor !== null);
  downloadText(`actions-${session}.csv`, writeCsv(rows), "text/csv");
}
