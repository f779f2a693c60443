/** The ways in: a token, and a provider if the server has one. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";

import { ApiError } from "@/api/errors";
import { logIn, loginWaysQuery, providerUrl } from "@/api/login";
import { misfit } from "@/lib/tokens";
import { Button } from "@/ui/controls";

interface LoginFormProps {
  /** Where a provider leads back to. */
  readonly next: string;
  /** The page stays as it is: the provider is gone to in a tab of its own. */
  readonly stays?: boolean;
  /** What went wrong on the way here. */
  readonly failure?: string | null;
}

export function LoginForm({ next, stays = false, failure = null }: LoginFormProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const provider = useQuery(loginWaysQuery()).data?.oidc ?? null;
  const login = useMutation({
    mutationFn: logIn,
    onSuccess: () => {
      setToken("");
    },
    onError: () => field.current?.select(),
  });
  useEffect(() => {
    field.current?.focus();
  }, []);
  const submit = (event: React.SubmitEvent) => {
    event.preventDefault();
    const problem = misfit(token);
    setWrong(problem);
    login.reset();
    if (problem === null) login.mutate(token.trim());
    else field.current?.select();
  };
  const told = wrong ?? (login.error ? explain(login.error) : failure);
  return (
    <form className="login-form" onSubmit={submit}>
      <label htmlFor={`${id}-token`}>Token</label>
      <input
        ref={field}
        id={`${id}-token`}
        type="password"
        autoComplete="current-password"
        autoCapitalize="none"
        spellCheck={false}
        placeholder="tlp_…"
        aria-invalid={told !== null}
        aria-describedby={`${id}-told ${id}-where`}
        value={token}
        onChange={(event) => {
          setToken(event.currentTarget.value);
          setWrong(null);
        }}
      />
      <p id={`${id}-told`} className="fail" role="alert">
        {told}
      </p>
      <Button type="submit" className="btn-solid" disabled={login.isPending}>
        {login.isPending ? "Logging in…" : "Log in"}
      </Button>
      {provider && (
        <a
          className="btn"
          href={providerUrl(next)}
          {...(stays ? { target: "_blank", rel: "noopener noreferrer" } : {})}
        >
          {nameProvider(provider.label)}
        </a>
      )}
      <p id={`${id}-where`} className="meta">
        {!stays && (
          <>
            An admin creates your first token, on the People page or with <code>turnlog tokens create</code>;
            you can create more yourself.{" "}
          </>
        )}
        This browser then stays logged in for 30 days, or until you log out.
      </p>
    </form>
  );
}

/** A label may be the provider's name alone. */
function nameProvider(label: string): string {
  return /^(log|sign) ?in\b/i.test(label) ? label : `Log in with ${label}`;
}

function explain(error: Error): string {
  if (!(error instanceof ApiError)) return "The server is not responding. Try again in a moment.";
  if (error.status === 401)
    return "This token is not valid: it was mistyped, has been revoked, has expired, or its account is disabled.";
  return error.message;
}
