/** A part of the page that cannot be loaded: the server is gone, or a newer one has other files. */

import { untilBack } from "@/api/connection";

const MARK = "turnlog.started-again";
const ONCE_IN_MS = 30_000;

/** Loads the whole page again as soon as the server is there; throws if that was tried just now. */
export async function startAgain(error: unknown): Promise<never> {
  await untilBack();
  const last = Number(sessionStorage.getItem(MARK));
  if (Date.now() - last < ONCE_IN_MS) throw error;
  sessionStorage.setItem(MARK, String(Date.now()));
  window.location.reload();
  return new Promise<never>(() => undefined);
}
