/** A session that is not there, not any more, or that cannot be read. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "wouter";

import { ApiError } from "@/api/errors";
import { sessionQuery } from "@/api/queries";
import { SHARED } from "@/lib/routes";
import { Notice } from "@/ui/notice";

import { Heard } from "./heard";

interface GoneProps {
  readonly session: string;
  readonly message: string;
  readonly onRetry: () => void;
}

/** Nothing of it stays where it could still be read. */
export function Gone({ session, message, onRetry }: GoneProps) {
  const client = useQueryClient();
  useEffect(() => {
    client.removeQueries({
      predicate: ({ queryKey: [name, key] }) => key === session && name !== "session" && name !== "heard",
    });
    const asked = client.getQueryCache().find({ queryKey: sessionQuery(session).queryKey });
    asked?.setState({ ...asked.state, data: undefined, dataUpdatedAt: 0 });
  }, [client, session]);
  return (
    <Heard session={session} onRetry={onRetry} otherwise={<Unreadable message={message} onRetry={onRetry} />} />
  );
}

export function isMissing(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404;
}

export function Unreadable({ message, onRetry }: { readonly message: string; readonly onRetry: () => void }) {
  return (
    <main id="main" className="none">
      <Notice title="This session could not be read." detail={message}>
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      </Notice>
      {!SHARED && (
        <Link className="btn" href="/sessions">
          All sessions
        </Link>
      )}
    </main>
  );
}
