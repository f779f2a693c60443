import { useEffect } from "react";

import { Brand } from "@/ui/icons";

/** A link that is not good: it never says whether it ever was. */
export function Ended() {
  useEffect(() => {
    document.title = "turnlog";
  }, []);
  return (
    <main id="main" className="ended" tabIndex={-1}>
      <Brand />
      <h1>This link no longer works.</h1>
      <p role="status">
        It has expired, was revoked by the person who created it, or was copied incompletely. Ask for a new one.
      </p>
    </main>
  );
}
