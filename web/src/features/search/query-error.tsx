/** What the search did not understand, with its place in the query marked. */

import { toUnit } from "@/lib/units";
import { showControls } from "@/lib/visible";
import { usePatience } from "@/ui/skeleton";

interface QueryErrorProps {
  readonly id: string;
  readonly query: string;
  /** In characters; null: it is about all of it. */
  readonly at: number | null;
  readonly message: string;
}

/** Whoever is still typing is not told at once. */
export function QueryError({ id, query, at, message }: QueryErrorProps) {
  const shown = usePatience(true);
  const place = at === null ? query.length : toUnit(query, at);
  const wrong = /^\S*/u.exec(query.slice(place))?.[0] ?? "";
  return (
    <p className={shown ? "qerr" : "qerr wait0"} id={id} role="alert">
      <code>
        {showControls(query.slice(0, place))}
        <u>{showControls(wrong) || " "}</u>
        {showControls(query.slice(place + wrong.length))}
      </code>
      <span>{message.replace(/ - at character \d+$/, "")}</span>
    </p>
  );
}
