/** How machines are called, where there are several people's. */

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { machinesQuery } from "@/api/people";
import { machineName } from "@/state/sharing";
import { useTeam } from "@/state/use-me";

/** How machines are called, by their origins; null where there is no team. */
export function useMachineNames(): ((origin: string) => string) | null {
  const team = useTeam() !== null;
  const { data } = useQuery({ ...machinesQuery(), enabled: team });
  return useMemo(() => (team ? (origin: string) => machineName(origin, data) : null), [team, data]);
}
