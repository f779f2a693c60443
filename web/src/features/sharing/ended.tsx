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
      <h1>This link does not work any more.</h1>
      <p role="status">
        It has expired, was ended by whoever made it, or was cut when it was copied. Ask for a new one.
      </p>
    </main>
  );
}
