/** Whether this browser is let in: by what the server says when it is asked who looks. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { connection } from "@/api/connection";
import { ApiError } from "@/api/errors";
import { loginWaysQuery } from "@/api/login";
import { meQuery } from "@/api/me";
import type { Me } from "@/api/me";

/**
 * `in`: let in, or nobody knows yet, or there is nothing to log in to.
 * `out`: not let in since the page was opened.
 * `ended`: let in once, and not any more: what stands on the page is still theirs, and must not get lost.
 */
export type Access = "in" | "out" | "ended";

export function useAccess(): Access {
  const client = useQueryClient();
  const { data: me, error } = useQuery(meQuery());
  const refused = error instanceof ApiError && error.status === 401;
  const ways = useQuery({ ...loginWaysQuery(), enabled: refused });
  useEffect(
    () =>
      connection.subscribe(() => {
        // Any request may be the first that is refused.
        if (connection.get() === "locked") void client.invalidateQueries({ queryKey: meQuery().queryKey });
      }),
    [client],
  );
  useOwnPage(me);
  if (!refused || ways.data?.team !== true) return "in";
  return me === undefined ? "out" : "ended";
}

/** Nobody is shown what was loaded for somebody else: then the page starts again. */
function useOwnPage(me: Me | undefined): void {
  const known = useRef<string | null>(null);
  useEffect(() => {
    if (me === undefined) return;
    const now = `${me.kind} ${me.name ?? ""}`;
    if (known.current !== null && known.current !== now) window.location.reload();
    known.current = now;
  }, [me]);
}
