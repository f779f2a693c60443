/** Notifications of the desktop, as far as the browser has them. */

import type { BoardCard } from "@/api/board";
import { baseName } from "@/lib/names";
import { endPath, missionControlPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { describeWhy, isReadable, titleOf } from "@/state/board";
import { waitKey } from "@/state/live/waits";

export type Permission = NotificationPermission | "missing";

export function readPermission(): Permission {
  return "Notification" in window ? Notification.permission : "missing";
}

/** Asks the reader, by the browser's own question. */
export async function askPermission(): Promise<Permission> {
  return "Notification" in window ? Notification.requestPermission() : "missing";
}

const MOST_TEXT = 160;

export function showNotification(card: BoardCard): void {
  if (readPermission() !== "granted") return;
  const where = card.project === null ? titleOf(card) : baseName(card.project);
  const asked = card.detail ?? titleOf(card);
  try {
    const shown = new Notification(`${showControls(where)}: ${lower(describeWhy(card))}`, {
      body: showControls(asked).slice(0, MOST_TEXT),
      // One for each wait, even if two tabs should tell of it.
      tag: waitKey(card),
    });
    shown.onclick = () => {
      window.focus();
      shown.close();
      window.history.pushState(null, "", isReadable(card) ? endPath(card.key) : missionControlPath());
    };
  } catch {
    // Some browsers of phones have the name, but not the thing.
  }
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
