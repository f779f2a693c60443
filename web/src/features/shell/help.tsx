import { useEffect, useRef } from "react";

import { useStore } from "@/state/binding";
import { bindings } from "@/state/keys";
import type { Binding } from "@/state/keys";
import { IconButton } from "@/ui/controls";
import { KeyCap } from "@/ui/keycap";

/** All keys of this page, and those that count everywhere. */
export function Help({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [everywhere = [], ...pages] = useStore(bindings);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} className="help" aria-labelledby="help-title" onClose={onClose}>
      <header>
        <h2 id="help-title">Keys</h2>
        <IconButton icon="x" label="Close" onClick={onClose} />
      </header>
      {open && (
        <div className="help-body">
          <KeyTable title="On this page" table={pages.toReversed().flat()} />
          <KeyTable title="Everywhere" table={everywhere} />
        </div>
      )}
    </dialog>
  );
}

function KeyTable({ title, table }: { readonly title: string; readonly table: readonly Binding[] }) {
  if (table.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {table.map((binding) => (
          <div key={binding.keys}>
            <dt>{binding.label}</dt>
            <dd>
              <KeyCap keys={binding.keys} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
