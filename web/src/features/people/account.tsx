/** One account: what it says, what lets its user in, and whether anything does. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import type { Me } from "@/api/me";
import { changeUser, enableUser } from "@/api/people";
import type { Role, User, UserChange } from "@/api/people";
import { ROLES } from "@/lib/people";
import { auditPath } from "@/lib/people-routes";
import { NO_FILTER, sessionsPath } from "@/lib/routes";
import { Button } from "@/ui/controls";
import { Field } from "@/ui/field";
import { Notice } from "@/ui/notice";

import { DisableDialog } from "./disable";
import { RoleSelect } from "./role-select";
import { Tokens } from "./tokens";

interface AccountProps {
  readonly user: User;
  readonly me: Me;
  readonly onDone: (said: string) => void;
}

export function Account({ user, me, onDone }: AccountProps) {
  const [asks, setAsks] = useState(false);
  const enabling = useMutation({
    mutationFn: () => enableUser(user.name),
    onSuccess: () => {
      onDone(`${user.name} can log in again, with a new token or through the provider.`);
    },
  });
  return (
    <div className="pe-account">
      {me.may_write && <Details user={user} me={me} onDone={onDone} />}
      <Tokens user={user} me={me} onDone={onDone} />
      {enabling.error && <Notice title="That did not work." detail={enabling.error.message} />}
      <p className="acts-row">
        <Link className="btn btn-s" href={sessionsPath({ ...NO_FILTER, person: user.name })}>
          Sessions
        </Link>
        <Link className="btn btn-s" href={auditPath({ who: user.name })}>
          What {me.name === user.name ? "you" : "they"} did
        </Link>
        {me.is_admin &&
          me.name !== user.name &&
          (user.disabled ? (
            <Button
              className="btn-s"
              disabled={enabling.isPending}
              onClick={() => {
                enabling.mutate();
              }}
            >
              Enable
            </Button>
          ) : (
            <Button
              className="btn-s"
              onClick={() => {
                setAsks(true);
              }}
            >
              Disable…
            </Button>
          ))}
      </p>
      {asks && (
        <DisableDialog
          user={user}
          onDone={onDone}
          onClose={() => {
            setAsks(false);
          }}
        />
      )}
    </div>
  );
}

/** What is said of a user; others than admins change no more than how they are called. */
function Details({ user, me, onDone }: AccountProps) {
  const [change, setChange] = useState<UserChange>({});
  const saving = useMutation({
    mutationFn: () => changeUser(user.name, change),
    onSuccess: () => {
      setChange({});
      onDone(`${user.name} was changed.`);
    },
  });
  const role: Role = change.role ?? user.role;
  const edit = (part: UserChange) => {
    setChange((before) => ({ ...before, ...part }));
  };
  return (
    <form
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      <Field name="Full name">
        {(ties) => (
          <input
            {...ties}
            type="text"
            autoComplete="off"
            maxLength={200}
            value={change.full_name ?? user.full_name}
            onChange={(event) => {
              edit({ full_name: event.currentTarget.value });
            }}
          />
        )}
      </Field>
      {me.is_admin && (
        <>
          <Field name="E-mail">
            {(ties) => (
              <input
                {...ties}
                type="email"
                autoComplete="off"
                maxLength={320}
                value={change.email ?? user.email ?? ""}
                onChange={(event) => {
                  edit({ email: event.currentTarget.value });
                }}
              />
            )}
          </Field>
          <Field name="Role" hint={`${ROLES[role][0]}: ${ROLES[role][1]}.`}>
            {(ties) => (
              <RoleSelect
                ties={ties}
                value={role}
                onChange={(chosen) => {
                  edit({ role: chosen });
                }}
              />
            )}
          </Field>
        </>
      )}
      {saving.error && <Notice title="The account was not changed." detail={saving.error.message} />}
      <p className="acts-row">
        <Button type="submit" className="btn-s" disabled={Object.keys(change).length === 0 || saving.isPending}>
          Save
        </Button>
        {Object.keys(change).length > 0 && (
          <Button
            className="btn-s btn-bare"
            onClick={() => {
              setChange({});
            }}
          >
            Discard{" "}
          </Button>
        )}
      </p>
    </form>
  );
}
