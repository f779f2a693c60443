/** Who looks, as far as it is known. */

import { useQuery } from "@tanstack/react-query";

import { meQuery } from "@/api/me";
import type { Me } from "@/api/me";

export function useMe(): Me | undefined {
  return useQuery(meQuery()).data;
}

/** Who looks, where they are one of several; null where the server is one person's, and for strangers. */
export function useTeam(): Me | null {
  const me = useMe();
  return me?.team === true && me.kind !== "link" ? me : null;
}
