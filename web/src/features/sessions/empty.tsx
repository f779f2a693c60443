/** Before there is anything: what to do, beside the shape of what will be here. */

import { useQuery } from "@tanstack/react-query";

import { statusQuery } from "@/api/queries";
import { useTitle } from "@/features/shell/use-title";
import { Button } from "@/ui/controls";
import { Icon } from "@/ui/icons";

const HOOKS = ["See sessions live, and when they are waiting for you", "turnlog hooks install"] as const;
const WAYS = [
  ["Look around with sample sessions", "turnlog serve --demo"],
  ["Read sessions from another folder", "turnlog sync PATH"],
  ["See where turnlog looks", "turnlog status"],
] as const;

export function Empty({ onLook }: { readonly onLook: () => void }) {
  const hooks = useQuery(statusQuery()).data?.hooks;
  const ways = hooks?.installed === false ? [...WAYS, HOOKS] : WAYS;
  useTitle();
  return (
    <main id="main" className="em">
      <div>
        <h1>Nothing kept yet.</h1>
        <p className="lead">
          turnlog found no sessions of Claude Code. As soon as there is one, it appears here. Until then:
        </p>
        <dl className="places">
          {ways.map(([what, command]) => (
            <div key={command}>
              <dt>
                <span className="st st-idle" aria-hidden="true" />
                {what}
              </dt>
              <dd>
                <code>{command}</code>
              </dd>
            </div>
          ))}
        </dl>
        <div className="acts">
          <Button className="btn-solid" onClick={onLook}>
            Look again
          </Button>
        </div>
        <p className="hint">Sample sessions are never mixed with yours.</p>
      </div>
      <Ghost />
    </main>
  );
}

function Ghost() {
  return (
    <div className="ghost" aria-hidden="true">
      <div className="b" />
      <div className="p">
        <div className="l w-22" />
        <div className="l w-92" />
        <div className="l w-64" />
      </div>
      <div className="l w-84" />
      <div className="l w-96" />
      <div className="l w-38" />
      <div className="r">
        <Icon name="bash" />
        <div className="l" />
        <div className="l w-56" />
        <div className="l" />
      </div>
      <div className="b" />
      <div className="r">
        <Icon name="edit" />
        <div className="l" />
        <div className="l w-72" />
        <div className="l" />
      </div>
      <div className="r">
        <Icon name="read" />
        <div className="l" />
        <div className="l w-44" />
        <div className="l" />
      </div>
      <div className="l w-92" />
      <div className="l w-72" />
    </div>
  );
}
