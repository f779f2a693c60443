import { useEffect, useEffectEvent, useRef } from "react";

import { Button } from "@/ui/controls";

interface MoreProps {
  readonly waiting: boolean;
  readonly onMore: () => void;
}

/** The end of what is loaded: whoever comes near it gets more, and a button is there for all others. */
export function More({ waiting, onMore }: MoreProps) {
  const end = useRef<HTMLDivElement>(null);
  const load = useEffectEvent(() => {
    if (!waiting) onMore();
  });
  useEffect(() => {
    if (!end.current) return;
    const observer = new IntersectionObserver(
      ([seen]) => {
        if (seen?.isIntersecting) load();
      },
      { rootMargin: "400px" },
    );
    observer.observe(end.current);
    return () => {
      observer.disconnect();
    };
  }, []);
  return (
    <div ref={end} className="au-more">
      <Button disabled={waiting} onClick={onMore}>
        {waiting ? "Loading…" : "Earlier entries"}
      </Button>
    </div>
  );
}
