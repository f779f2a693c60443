/** A session that only hooks have told of: what they told, and why there is no more. */

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { ReactNode } from "react";
import { Link } from "wouter";

import { getTimeline } from "@/api/conversation";
import type { HookItem } from "@/api/types";
import { useTitle } from "@/features/shell/use-title";
import { actionsPath } from "@/lib/action-filter";
import { formatClock, formatCounted, formatMoment } from "@/lib/format";
import { showControls } from "@/lib/visible";
import { createFolds } from "@/state/flow/folds";
import { useLive } from "@/state/live/use-live";
import { Skeleton } from "@/ui/skeleton";

import { HookChips } from "./bodies/hooks";
import { ConversationProvider } from "./context";

interface HeardProps {
  readonly session: string;
  /** Asks for its files again. */
  readonly onRetry: () => void;
  /** What is shown if nobody has told of it. */
  readonly otherwise: ReactNode;
}

export function Heard({ session, onRetry, otherwise }: HeardProps) {
  const query = useQuery({
    queryKey: ["heard", session],
    queryFn: ({ signal }) => getTimeline(session, { first: true }, { source: null, agent: null }, signal),
  });
  const hooks = query.data?.hooks ?? [];
  useLive(session, () => {
    void query.refetch();
    onRetry();
  });
  useTitle(hooks.length === 0 ? "No such session" : "A session without files");
  if (query.isPending) return <Skeleton rows={6} shape="message" />;
  if (hooks.length === 0) return otherwise;
  return (
    <main id="main" className="heard" tabIndex={-1}>
      <h1>{showControls(promptIn(hooks) ?? "A session without files")}</h1>
      <p className="lead">
        So far, only hooks have reported this session. Its transcript has not been archived: it may not have
        been written yet, may be somewhere turnlog does not look, or may have been deleted.
      </p>
      <p className="meta">
        {formatCounted(hooks.length, "hook event")}, {formatMoment(hooks[0]?.at ?? null)} to{" "}
        {formatMoment(hooks.at(-1)?.at ?? null)} · <code>{showControls(session)}</code> ·{" "}
        <Link href={actionsPath(session)}>Action log</Link>
      </p>
      <Events session={session} hooks={hooks} />
    </main>
  );
}

/** What the person asked last, which is the best name there is. */
function promptIn(hooks: readonly HookItem[]): string | null {
  const prompt = hooks.find((hook) => hook.event_name === "UserPromptSubmit");
  return prompt && prompt.label !== prompt.event_name ? prompt.label : null;
}

function Events({ session, hooks }: { readonly session: string; readonly hooks: readonly HookItem[] }) {
  const [stores] = useState(() => ({ folds: createFolds(), runs: createFolds() }));
  const context = useMemo(() => ({ session, ...stores, announce: () => undefined }), [session, stores]);
  return (
    <ConversationProvider value={context}>
      <ol>
        {hooks.map((hook) => (
          <li key={hook.id}>
            <time dateTime={hook.at ?? undefined}>{formatClock(hook.at)}</time>
            <HookChips id={`heard-${hook.id}`} hooks={[hook]} />
          </li>
        ))}
      </ol>
    </ConversationProvider>
  );
}
