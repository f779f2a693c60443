/** What a provider, or the way back from it, may have said no to. */

const FAILURES: Readonly<Record<string, string>> = {
  denied: "The provider did not let you in, or you cancelled there. Try again, or use a token.",
  expired: "That took too long, or was started in another browser. Try again.",
  unknown:
    "The provider knows you, but there is no account for you here. An admin can add one with your e-mail address.",
  unverified: "The provider has not verified your e-mail address. Verify it there, or use a token.",
  domain: "The domain of your e-mail address is not allowed here.",
  refused:
    "The provider’s response could not be verified. Try again, or use a token; the server’s log says why.",
  disabled: "Your account here is disabled. An admin can enable it.",
  unreachable: "The provider is not responding. Try again in a moment, or use a token.",
};

/** The sentence for `/login?error=…`; null if nothing went wrong. */
export function failureOf(search: string): string | null {
  const code = new URLSearchParams(search).get("error");
  if (code === null) return null;
  return Object.hasOwn(FAILURES, code)
    ? (FAILURES[code] ?? null)
    : "Logging in with the provider did not work. Try again, or use a token.";
}
