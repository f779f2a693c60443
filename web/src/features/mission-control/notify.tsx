/** Being told when a session starts to wait: by this browser, and by what config.toml names. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { notificationsQuery, testNotifications } from "@/api/board";
import type { Notifications, Sent } from "@/api/board";
import { showControls } from "@/lib/visible";
import { useStore } from "@/state/binding";
import { tellsWaits } from "@/state/live/waits";
import { Button, IconButton } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";

import { askPermission, readPermission } from "./desktop";
import type { Permission } from "./desktop";

/** Asks the browser for leave the first time; off again with the next click. */
function useTelling() {
  const wanted = useStore(tellsWaits) === "on";
  const [permission, setPermission] = useState<Permission>(readPermission);
  const toggle = () => {
    if (wanted && permission === "granted") {
      tellsWaits.set("off");
      return;
    }
    void askPermission().then((answer) => {
      setPermission(answer);
      tellsWaits.set(answer === "granted" ? "on" : "off");
    });
  };
  return { on: wanted && permission === "granted", permission, toggle };
}

export function NotifyControls({ onOpen }: { readonly onOpen: () => void }) {
  const { on, permission, toggle } = useTelling();
  return (
    <div className="tell">
      <Button className="btn-bare" aria-pressed={on} disabled={permission === "missing"} onClick={toggle}>
        <Icon name="bell" />
        {permission === "denied" ? "The browser blocks notifications" : "Tell me when one starts to wait"}
        {on && <Icon name="check" className="i-s" />}
      </Button>
      <IconButton icon="more" label="More notifications" onClick={onOpen} />
    </div>
  );
}

const MOMENTS: Readonly<Record<string, string>> = { waits: "starts to wait", ends: "ends" };

export function NotifySheet({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} className="sheet" aria-labelledby="notify-title" onClose={onClose}>
      <header>
        <h2 id="notify-title">Notifications</h2>
        <IconButton icon="x" label="Close" onClick={onClose} />
      </header>
      {open && <Settings />}
    </dialog>
  );
}

function Settings() {
  const { on, permission } = useTelling();
  const { data, error } = useQuery(notificationsQuery());
  const test = useMutation({ mutationFn: testNotifications });
  const targets = data ? Number(data.desktop) + data.webhooks.length : 0;
  return (
    <div className="in">
      <dl>
        <div>
          <dt>This browser</dt>
          <dd>{describeBrowser(on, permission)}</dd>
        </div>
        {data && <Configured settings={data} />}
      </dl>
      {error && <Notice title="The settings could not be read." detail={error.message} />}
      <p className="meta">
        The server’s own notifications are set in <code>config.toml</code>, under <code>[notifications]</code>.
        They cannot be changed from here.
      </p>
      <div className="acts">
        <Button
          className="btn-solid"
          disabled={targets === 0 || test.isPending}
          onClick={() => {
            test.mutate();
          }}
        >
          Send a test
        </Button>
        {targets === 0 && data && <span className="meta">There is nowhere to send it.</span>}
      </div>
      <div role="status">{test.data && <Results sent={test.data} />}</div>
      {test.error && <Notice title="The test could not be sent." detail={test.error.message} />}
    </div>
  );
}

function describeBrowser(on: boolean, permission: Permission): string {
  if (permission === "missing") return "cannot show notifications";
  if (permission === "denied") return "blocks notifications from this page";
  return on ? "notifies you when a session starts to wait" : "off";
}

function Configured({ settings }: { readonly settings: Notifications }) {
  const when = (on: readonly string[]) => on.map((moment) => MOMENTS[moment] ?? moment).join(" or ");
  return (
    <>
      <div>
        <dt>The server’s desktop</dt>
        <dd>{settings.desktop ? `notifies when a session ${when(settings.on)}` : "off"}</dd>
      </div>
      {settings.webhooks.length === 0 ? (
        <div>
          <dt>Webhooks</dt>
          <dd>none</dd>
        </div>
      ) : (
        settings.webhooks.map((hook) => (
          <div key={hook.url}>
            <dt>Webhook</dt>
            <dd>
              <code>{showControls(hook.url)}</code> when a session {when(hook.on)}
            </dd>
          </div>
        ))
      )}
    </>
  );
}

function Results({ sent }: { readonly sent: readonly Sent[] }) {
  return (
    <ul className="results">
      {sent.map((result) => (
        <li key={result.target}>
          <span className={`st st-${result.ok ? "done" : "fail"}`} aria-hidden="true" />
          <span>
            <b>{showControls(result.target)}</b>{" "}
            <span className={result.ok ? "quiet" : "fail"}>
              {result.ok ? "arrived" : "failed"}
              {result.message !== "" && `: ${showControls(result.message)}`}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
