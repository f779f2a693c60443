import { useQuery } from "@tanstack/react-query";
import { Redirect } from "wouter";

import { statusQuery } from "@/api/queries";

/** Where the address alone leads to: to what is alive, if anything is; else to all there is to read. */
export function Home() {
  const { data, isPending } = useQuery(statusQuery());
  if (isPending) return <main id="main" tabIndex={-1} />;
  const alive = (data?.needs_you ?? 0) + (data?.working ?? 0) > 0;
  return <Redirect to={alive ? "/mission-control" : "/sessions"} replace />;
}
