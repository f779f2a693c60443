import { useQuery } from "@tanstack/react-query";

import { connection } from "@/api/connection";
import { loginWaysQuery } from "@/api/login";
import { useStore } from "@/state/binding";

/** Says that the server is gone, over what is shown: that stays, and can still be read. */
export function ConnectionBanner() {
  const state = useStore(connection);
  // Where there are accounts, the login says all there is to say.
  const ways = useQuery({ ...loginWaysQuery(), enabled: state === "locked" });
  const alone = ways.isError || ways.data?.team === false;
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
      {state === "locked" && alone && (
        <div className="banner bad">
          <span className="st st-fail" aria-hidden="true" />
          <span>
            <b>This browser has no access.</b> Open the address that <code>turnlog serve</code> printed.
          </span>
        </div>
      )}
    </div>
  );
}
