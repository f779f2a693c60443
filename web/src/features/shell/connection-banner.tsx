import { connection } from "@/api/connection";
import { useStore } from "@/state/binding";

/** Says that the server is gone, over what is shown: that stays, and can still be read. */
export function ConnectionBanner() {
  const state = useStore(connection);
  return (
    <div className="over" role="status">
      {state === "gone" && (
        <div className="banner">
          <span className="st st-work" aria-hidden="true" />
          <span>
            <b>The server went away.</b> Trying again. What you see stays.
          </span>
        </div>
      )}
      {state === "locked" && (
        <div className="banner bad">
          <span className="st st-fail" aria-hidden="true" />
          <span>
            <b>This browser is not let in.</b> Open the address that <code>turnlog serve</code> printed.
          </span>
        </div>
      )}
    </div>
  );
}
