import { useQuery } from "@tanstack/react-query";

import { statusQuery } from "@/api/queries";

/** Says that nothing here is real, on every page. */
export function DemoBanner() {
  const demo = useQuery(statusQuery()).data?.demo;
  if (!demo) return null;
  return (
    <div className="demo" role="note">
      <span className="tag">Demo</span>
      <span className="clip">These sessions are made up; nothing of yours is shown or touched.</span>
      <span className="grow" />
      <span className="leave">
        Leave it with <code>turnlog serve</code>
      </span>
    </div>
  );
}
