/** Grey rows in the shape of what is loading. They wait 150 ms, so that what comes at once does not flicker. */

import { useEffect, useState } from "react";

const PATIENCE_MS = 150;

export function usePatience(waiting: boolean): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    if (!waiting) return;
    const timer = setTimeout(() => {
      setOver(true);
    }, PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      setOver(false);
    };
  }, [waiting]);
  return waiting && over;
}

export function Skeleton({
  rows,
  shape,
}: {
  readonly rows: number;
  readonly shape: "session" | "message" | "turn";
}) {
  const shown = usePatience(true);
  if (!shown) return null;
  return (
    <div className={`sk-rows sk-${shape}`} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="sk-row">
          <span className="sk" />
          <span className="sk" />
          <span className="sk" />
        </div>
      ))}
    </div>
  );
}
