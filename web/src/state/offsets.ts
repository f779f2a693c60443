/** How far a list was scrolled, by its address: back, and loading the page again, lead to the same place. */

const PREFIX = "turnlog.offset ";

export function readOffset(address: string): number {
  try {
    return Number(sessionStorage.getItem(PREFIX + address)) || 0;
  } catch {
    return 0; // Storage may be forbidden; then lists begin at their top.
  }
}

export function keepOffset(address: string, offset: number): void {
  try {
    sessionStorage.setItem(PREFIX + address, String(Math.round(offset)));
  } catch {
    // See readOffset.
  }
}
