import { useEffect, useState } from "react";

import { drawing } from "@/lib/drawing";

/** Whether something of this weight may be drawn by now; once it may, it stays so. */
export function useDrawn(weight: number): boolean {
  const [drawn, setDrawn] = useState(() => drawing.take(weight));
  useEffect(() => {
    if (drawn) return;
    return drawing.wait(weight, () => {
      setDrawn(true);
    });
  }, [drawn, weight]);
  return drawn;
}
