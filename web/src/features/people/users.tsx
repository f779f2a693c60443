/** Everybody, by name; who may look after an account opens it. */

import type { Me } from "@/api/me";
import type { User } from "@/api/people";
import { formatAgo, formatMoment } from "@/lib/format";
import { ROLES } from "@/lib/people";
import { showControls } from "@/lib/visible";
import { useClock } from "@/state/use-clock";
import { Icon } from "@/ui/icons";

import { Account } from "./account";

interface UsersProps {
  readonly users: readonly User[];
  readonly me: Me;
  /** Whose account is open. */
  readonly open: string | null;
  readonly onOpen: (name: string | null) => void;
  readonly onDone: (said: string) => void;
}

export function Users({ users, me, open, onOpen, onDone }: UsersProps) {
  return (
    <section className="fig" aria-labelledby="users-title">
      <header>
        <h2 id="users-title">Accounts</h2>
      </header>
      <p className="quiet">
        {me.is_admin
          ? "Open one for its tokens, to change it, or to disable it."
          : "Open yours for your tokens. Admins see everything, and what they view is recorded."}
      </p>
      <ul className="ar-list">
        {users.map((user) => (
          <li key={user.name}>
            {me.is_admin || me.name === user.name ? (
              <details
                className="ar-flaw"
                open={open === user.name}
                onToggle={(event) => {
                  const shown = event.currentTarget.open;
                  if (shown !== (open === user.name)) onOpen(shown ? user.name : null);
                }}
              >
                <summary className="pe-user">
                  <Icon name="right" className="chev" />
                  <Person user={user} me={me} />
                </summary>
                {open === user.name && <Account user={user} me={me} onDone={onDone} />}
              </details>
            ) : (
              <div className="pe-user">
                <span />
                <Person user={user} me={me} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Person({ user, me }: { readonly user: User; readonly me: Me }) {
  return (
    <>
      <span className={user.disabled ? "clip quiet" : "clip"}>
        <b>{user.name}</b> <bdi>{showControls(user.full_name)}</bdi>
        {me.name === user.name && <span className="meta"> you</span>}
      </span>
      <span className="meta">{user.disabled ? "disabled" : ROLES[user.role][0].toLowerCase()}</span>
      {user.seen_at === null ? (
        <span className="meta num">{me.is_admin ? "never logged in" : ""}</span>
      ) : (
        <Seen at={user.seen_at} />
      )}
    </>
  );
}

function Seen({ at }: { readonly at: string }) {
  const ago = useClock((now) => formatAgo(now - Date.parse(at)));
  return (
    <span className="meta num" title={`Last seen ${formatMoment(at)}`}>
      {ago}
    </span>
  );
}
