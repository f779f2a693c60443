/** Says on every other page that a session has just begun to wait, with the way there. */

import { useCallback, useMemo } from "react";
import { Link, useLocation } from "wouter";

import type { BoardCard } from "@/api/board";
import { baseName } from "@/lib/names";
import { endPath, missionControlPath, sessionPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { describeWhy, isReadable, titleOf } from "@/state/board";
import { useStore } from "@/state/binding";
import type { Binding } from "@/state/keys";
import { freshWaits } from "@/state/live/waits";
import { useKeys } from "@/state/use-keys";
import { IconButton } from "@/ui/controls";
import { KeyCap } from "@/ui/keycap";

const NO_KEYS: readonly Binding[] = [];

export function WaitToast() {
  const [path, navigate] = useLocation();
  const waits = useStore(freshWaits);
  const card = waits.findLast((wait) => !isAt(path, wait));
  const shown = card !== undefined && !path.startsWith(missionControlPath());
  const dismiss = useCallback(() => {
    freshWaits.set([]);
  }, []);
  const table = useMemo<readonly Binding[]>(() => {
    if (!shown) return NO_KEYS;
    const go = () => {
      dismiss();
      navigate(placeOf(card));
    };
    return [{ keys: "n", label: "go to the session that is waiting", run: go }];
  }, [shown, card, dismiss, navigate]);
  useKeys(table);
  return (
    <div className="toast-at" role="status">
      {shown && (
        <div className="banner toast">
          <span className="st st-wait" aria-hidden="true" />
          <span className="clip">
            <b>{showControls(card.project === null ? titleOf(card) : baseName(card.project))}</b>{" "}
            {lower(describeWhy(card))}
          </span>
          <span className="grow" />
          <Link href={placeOf(card)} onClick={dismiss}>
            Go there
          </Link>
          <KeyCap keys="n" />
          <IconButton icon="x" label="Not now" onClick={dismiss} />
        </div>
      )}
    </div>
  );
}

function placeOf(card: BoardCard): string {
  return isReadable(card) ? endPath(card.key) : missionControlPath();
}

/** Whoever reads the conversation sees it there. */
function isAt(path: string, card: BoardCard): boolean {
  return path.startsWith(sessionPath(card.key));
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
