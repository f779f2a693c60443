import { useEffect, useRef } from "react";

import { useStore } from "@/state/binding";
import { bindings } from "@/state/keys";
import { IconButton } from "@/ui/controls";
import { KeyCap } from "@/ui/keycap";

/** All keys of this page. */
export function Help({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const tables = useStore(bindings);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} className="help" aria-labelledby="help-title" onClose={onClose}>
      <header>
        <h2 id="help-title">Keys on this page</h2>
        <IconButton icon="x" label="Close" onClick={onClose} />
      </header>
      <dl>
        {open &&
          tables
            .toReversed()
            .flat()
            .map((binding) => (
              <div key={binding.keys}>
                <dt>{binding.label}</dt>
                <dd>
                  <KeyCap keys={binding.keys} />
                </dd>
              </div>
            ))}
      </dl>
    </dialog>
  );
}
