/** What a link leads to, and that it has ended: told by the server, whatever is asked, or by the clock. */

import { useQuery } from "@tanstack/react-query";
import type { Query, QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { ApiError } from "@/api/errors";
import { liveStatus } from "@/api/live";
import { meQuery } from "@/api/me";
import type { Me } from "@/api/me";
import { live } from "@/state/live/live";

export type SharedLink = NonNullable<Me["link"]>;

/** Where nothing tells of it, it is asked for. */
const ASK_EVERY_MS = 30_000;
/** Timers know no more than this. */
const LONGEST_MS = 2 ** 31 - 1;

export function useLink(client: QueryClient) {
  const [ended, setEnded] = useState(false);
  const { data, error, refetch } = useQuery({
    ...meQuery(),
    enabled: !ended,
    staleTime: 0,
    refetchInterval: ASK_EVERY_MS,
  });
  const link = data?.link ?? null;
  const over = isRefused(error) || (data !== undefined && link === null);
  if (over && !ended) setEnded(true);
  useEffect(() => {
    if (!ended) return;
    live.stop();
    forgetAll(client);
  }, [ended, client]);
  useEffect(() => {
    if (ended) return;
    const ask = () => {
      void refetch();
    };
    // A stream that ends, and whatever is refused, may be the end of the link.
    const stops = [
      liveStatus.subscribe(() => {
        if (liveStatus.get() !== "open") ask();
      }),
      client.getQueryCache().subscribe((event) => {
        const query = event.query as Query;
        if (event.type !== "updated" || query.queryKey[0] === "me") return;
        if (isRefused(query.state.error)) ask();
      }),
    ];
    // A page that the browser kept is shown again as it was.
    window.addEventListener("pageshow", ask);
    return () => {
      window.removeEventListener("pageshow", ask);
      for (const stop of stops) stop();
    };
  }, [ended, client, refetch]);
  const until = link?.expires_at;
  useEffect(() => {
    if (until === undefined) return;
    const left = Date.parse(until) - Date.now();
    if (left > LONGEST_MS) return;
    const timer = setTimeout(
      () => {
        setEnded(true);
      },
      Math.max(0, left),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [until]);
  return {
    link,
    ended,
    failure: link ? null : error,
    retry: () => {
      void refetch();
    },
  };
}

/** The server knows no such link, or none any more; that it is gone itself is something else. */
export function isRefused(error: Error | null): boolean {
  return error instanceof ApiError && [401, 403, 404, 410].includes(error.status);
}

/** Nothing of the session stays in what the page keeps. */
function forgetAll(client: QueryClient): void {
  void client.cancelQueries();
  client.clear();
  try {
    sessionStorage.clear();
  } catch {
    // Storage may be forbidden; then nothing was kept.
  }
}
