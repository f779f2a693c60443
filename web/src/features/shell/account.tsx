/** Who one is, and what follows from it: in the top bar of a team's server. */

import "@/styles/account.css";

import { useMutation } from "@tanstack/react-query";
import { useId, useRef } from "react";
import { Link } from "wouter";

import { logOut } from "@/api/login";
import type { Me } from "@/api/me";
import { ROLES } from "@/lib/people";
import { auditPath, peoplePath } from "@/lib/people-routes";
import { useTeam } from "@/state/use-me";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";

export function AccountMenu() {
  const me = useTeam();
  return me ? <Menu me={me} /> : null;
}

function Menu({ me }: { readonly me: Me }) {
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const leave = useMutation({
    mutationFn: logOut,
    onSuccess: () => {
      // Nothing that was loaded stays in memory.
      window.location.assign("/");
    },
  });
  const close = () => menu.current?.hidePopover();
  const name = me.name ?? "operator";
  return (
    <>
      <button type="button" className="account" popoverTarget={id} aria-label={`Account: ${name}`}>
        <Icon name="person" />
        <span className="clip" aria-hidden="true">
          {name}
        </span>
      </button>
      <div ref={menu} id={id} popover="auto" className="account-menu" role="group" aria-label="Account">
        <div className="account-who">
          <b>{me.full_name === "" ? name : me.full_name}</b>
          <p>{describe(me)}</p>
        </div>
        {me.name !== null && (
          <Link href={peoplePath({ person: me.name })} onClick={close}>
            Your account and tokens
          </Link>
        )}
        <Link href={peoplePath()} onClick={close}>
          People
        </Link>
        <Link href={auditPath()} onClick={close}>
          {me.is_admin ? "Audit" : "Audit entries about you"}
        </Link>
        <button
          type="button"
          disabled={leave.isPending}
          onClick={() => {
            leave.mutate();
          }}
        >
          Log out
        </button>
        {leave.error && <Notice title="You are still logged in." detail={leave.error.message} />}
      </div>
    </>
  );
}

function describe(me: Me): string {
  if (me.role === null) return "The operator’s browser: sees everything and may change everything.";
  const [role, means] = ROLES[me.role];
  return `${me.name ?? ""}, ${role.toLowerCase()}: ${means}.`;
}
