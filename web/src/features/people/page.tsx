/** People: who may come in, by what, from which machines, and what they share. */

import "@/styles/usage.css";
import "@/styles/archive.css";
import "@/styles/people.css";

import { useQuery } from "@tanstack/react-query";
import { Link, useLocation, useSearch } from "wouter";

import type { Me } from "@/api/me";
import { usersQuery } from "@/api/people";
import type { User } from "@/api/people";
import { useTitle } from "@/features/shell/use-title";
import { formatCount, formatCounted } from "@/lib/format";
import { auditPath, parsePeople, peoplePath } from "@/lib/people-routes";
import { useMe } from "@/state/use-me";
import { Button } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { AddUser } from "./add-user";
import { Alone } from "./alone";
import { Machines } from "./machines";
import { Rules } from "./rules";
import { useSaid } from "./use-said";
import { Users } from "./users";

export function PeoplePage() {
  const me = useMe();
  useTitle("People");
  return (
    <main id="main" className="us care people" tabIndex={-1}>
      {me === undefined ? <Skeleton rows={6} shape="session" /> : me.team ? <Team me={me} /> : <Alone />}
    </main>
  );
}

function Team({ me }: { readonly me: Me }) {
  const { data: users, error, refetch } = useQuery(usersQuery());
  const [, navigate] = useLocation();
  const { person, adds } = parsePeople(useSearch());
  const [said, say] = useSaid();
  return (
    <>
      <header className="ar-head pe-head">
        <h1>
          {users ? describe(users) : "People"} <span>{users && describeRest(users)}</span>
        </h1>
        <Link className="btn btn-bare" href={auditPath()}>
          Audit
        </Link>
        {me.is_admin && (
          <Button
            className="btn-solid"
            onClick={() => {
              navigate(peoplePath({ adds: true }));
            }}
          >
            <Icon name="person" className="i-s" />
            Add someone
          </Button>
        )}
      </header>
      <p className="said" role="status">
        {said}
      </p>
      {error && (
        <Notice title="The people could not be listed." detail={error.message}>
          <button type="button" onClick={() => void refetch()}>
            Try again
          </button>
        </Notice>
      )}
      <div className="gridu">
        <div>
          {users ? (
            <Users
              users={users}
              me={me}
              open={person}
              onOpen={(name) => {
                navigate(peoplePath({ person: name }), { replace: true });
              }}
              onDone={say}
            />
          ) : (
            !error && <Skeleton rows={4} shape="session" />
          )}
          <Machines me={me} users={users ?? []} onDone={say} />
        </div>
        <div>
          <Rules me={me} onDone={say} />
        </div>
      </div>
      {adds && me.is_admin && (
        <AddUser
          onDone={(name) => {
            say(`${name} was added. Now create a token for them to log in with.`);
            navigate(peoplePath({ person: name }), { replace: true });
          }}
          onClose={() => {
            // Whoever was added is open now.
            if (parsePeople(window.location.search).adds) navigate(peoplePath(), { replace: true });
          }}
        />
      )}
    </>
  );
}

function describe(users: readonly User[]): string {
  return users.length === 1 ? "One person." : `${formatCount(users.length)} people.`;
}

function describeRest(users: readonly User[]): string {
  const admins = users.filter(({ role, disabled }) => role === "admin" && !disabled).length;
  const disabled = users.filter((user) => user.disabled).length;
  return [
    `${formatCounted(admins, "admin")}.`,
    disabled > 0 && `${formatCount(disabled)} ${disabled === 1 ? "is" : "are"} disabled.`,
  ]
    .filter(Boolean)
    .join(" ");
}
