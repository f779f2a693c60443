/** Tokens: what their form tells before anybody is asked, and what to type where one is to be used. */

const SECRET = 43;
/** What the secrets of turnlog begin with. */
const PREFIXES = { personal: "tlp_", machine: "tlm_", link: "tls_" } as const;

/** What is wrong with a token for logging in, by its form alone; null: ask the server. */
export function misfit(given: string): string | null {
  const token = given.trim();
  if (token === "") return "Paste your token here.";
  if (/\s/.test(token)) return "A token has no spaces in it: paste only the token.";
  if (token.startsWith(PREFIXES.machine))
    return "This is a machine token, which only lets a machine push sessions. You need a personal token, which begins with tlp_.";
  if (token.startsWith(PREFIXES.link))
    return "This is part of a link to one session: open the link’s full address instead.";
  if (token.startsWith(PREFIXES.personal) && token.length !== PREFIXES.personal.length + SECRET)
    return `A personal token has ${PREFIXES.personal.length + SECRET} characters, and this has ${token.length}: it is incomplete, or something was added.`;
  return null;
}

export interface Step {
  readonly what: string;
  readonly command: string;
}

const FILE = "~/.turnlog-token";

/** What to type on a machine, so that it pushes its sessions to a server. */
export function pushSteps(server: string, secret: string): readonly Step[] {
  const open = isOpenLine(server);
  const push = `turnlog push --to ${server} --token-file ${FILE}${open ? " --insecure" : ""}`;
  return [
    { what: "Keep the token where only you can read it", command: `(umask 077; echo '${secret}' > ${FILE})` },
    { what: "Push what there is, to check that it works", command: `${push} --once` },
    // A service takes encrypted lines only.
    open
      ? { what: "Keep pushing new data, until interrupted", command: push }
      : {
          what: "Keep it running, even after a restart",
          command: `turnlog service install --push ${server} --token-file ${FILE}`,
        },
  ];
}

/** What to know about an address before it is used from another machine; null: nothing. */
export function warnOfAddress(server: string): string | null {
  if (isLoopback(new URL(server).hostname))
    return "This is the server’s address on its own machine. On another machine, replace it with the name under which that machine reaches the server.";
  return isOpenLine(server)
    ? "The connection to this server is not encrypted: anyone listening can read the token and the sessions."
    : null;
}

/** Without TLS, and not on the same machine. */
function isOpenLine(server: string): boolean {
  const url = new URL(server);
  return url.protocol === "http:" && !isLoopback(url.hostname);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}
