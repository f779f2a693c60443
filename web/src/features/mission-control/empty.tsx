/** When nothing runs and nothing ended today: what will be here, and how it gets here sooner. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { statusQuery } from "@/api/queries";

export function NothingLive() {
  const { data } = useQuery(statusQuery());
  const installed = data?.hooks.installed ?? null;
  return (
    <main id="main" className="em mc-none" tabIndex={-1}>
      <div>
        <h1>Nothing is running.</h1>
        <p className="lead">
          As soon as a Claude Code session starts, it appears here: what it is doing, when it needs you, and
          why.
        </p>
        <dl className="places">
          <div>
            <dt>
              <span className="st st-idle" aria-hidden="true" />
              Its files
            </dt>
            <dd>
              {data?.sync.phase === "off" ? "not read: turnlog is running without sync" : "read as they grow"}
            </dd>
          </div>
          <div>
            <dt>
              <span className={`st st-${installed === true ? "done" : "idle"}`} aria-hidden="true" />
              Its hooks
            </dt>
            <dd>
              {installed === true ? (
                "installed: waiting sessions are reported at once"
              ) : (
                <>
                  <code>turnlog hooks install</code> reports waiting sessions at once
                </>
              )}
            </dd>
          </div>
        </dl>
        <div className="acts">
          <Link className="btn" href="/sessions">
            All sessions
          </Link>
        </div>
      </div>
      <div className="ghost mc-ghost" aria-hidden="true">
        <div className="p">
          <div className="l w-22" />
          <div className="l w-84" />
          <div className="b" />
          <div className="l w-38" />
        </div>
        <div className="p">
          <div className="l w-22" />
          <div className="l w-72" />
          <div className="l w-56" />
        </div>
        <div className="p">
          <div className="l w-22" />
          <div className="l w-64" />
          <div className="l w-44" />
        </div>
      </div>
    </main>
  );
}
