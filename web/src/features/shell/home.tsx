import { useQuery } from "@tanstack/react-query";
import { Redirect } from "wouter";

import { ApiError } from "@/api/errors";
import { statusQuery } from "@/api/queries";

/** Where the address alone leads to: to what is alive, if anything is; else to all there is to read. */
export function Home() {
  const { data, isPending, error } = useQuery(statusQuery());
  // Whoever has yet to log in gets to where the address leads then.
  const refused = error instanceof ApiError && error.status === 401;
  if (isPending || refused) return <main id="main" tabIndex={-1} />;
  const alive = (data?.needs_you ?? 0) + (data?.working ?? 0) > 0;
  return <Redirect to={alive ? "/mission-control" : "/sessions"} replace />;
}
