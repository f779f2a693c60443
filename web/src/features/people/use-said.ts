import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";

/** What was done last, in words; whatever is known of people is asked for again then. */
export function useSaid(): readonly [string, (text: string) => void] {
  const client = useQueryClient();
  const [said, setSaid] = useState("");
  const say = useCallback(
    (text: string) => {
      setSaid(text);
      void client.invalidateQueries({ queryKey: ["people"] });
      void client.invalidateQueries({ queryKey: ["audit"] });
    },
    [client],
  );
  return [said, say];
}
