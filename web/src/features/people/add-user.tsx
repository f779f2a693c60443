/** Makes an account. */

import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { addUser } from "@/api/people";
import type { Role } from "@/api/people";
import { misnamed, ROLES } from "@/lib/people";
import { Button } from "@/ui/controls";
import { Dialog } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Notice } from "@/ui/notice";

import { RoleSelect } from "./role-select";

interface AddUserProps {
  readonly onDone: (name: string) => void;
  readonly onClose: () => void;
}

export function AddUser({ onDone, onClose }: AddUserProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => dialog.current?.close();
  const [user, setUser] = useState({ name: "", full_name: "", email: "", role: "member" as Role });
  const [tried, setTried] = useState(false);
  const adding = useMutation({
    mutationFn: addUser,
    onSuccess: ({ name }) => {
      onDone(name);
    },
  });
  const change = (part: Partial<typeof user>) => {
    setUser((before) => ({ ...before, ...part }));
  };
  const wrong = tried ? misnamed(user.name) : null;
  return (
    <Dialog dialog={dialog} title="Add someone" onClose={onClose}>
      <form
        className="fields"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (misnamed(user.name) === null) adding.mutate(user);
        }}
      >
        <Field
          name="Name"
          hint={
            wrong === null ? (
              "The user name. It never changes, and is never given to anyone else."
            ) : (
              <span className="fail" role="alert">
                {wrong}
              </span>
            )
          }
        >
          {(ties) => (
            <input
              {...ties}
              type="text"
              required
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              aria-invalid={wrong !== null}
              value={user.name}
              onChange={(event) => {
                change({ name: event.currentTarget.value.trim() });
              }}
            />
          )}
        </Field>
        <Field name="Full name">
          {(ties) => (
            <input
              {...ties}
              type="text"
              autoComplete="off"
              maxLength={200}
              value={user.full_name}
              onChange={(event) => {
                change({ full_name: event.currentTarget.value });
              }}
            />
          )}
        </Field>
        <Field name="E-mail" hint="Identifies them at their first login through a provider.">
          {(ties) => (
            <input
              {...ties}
              type="email"
              autoComplete="off"
              maxLength={320}
              value={user.email}
              onChange={(event) => {
                change({ email: event.currentTarget.value });
              }}
            />
          )}
        </Field>
        <Field name="Role" hint={`${ROLES[user.role][0]}: ${ROLES[user.role][1]}.`}>
          {(ties) => (
            <RoleSelect
              ties={ties}
              value={user.role}
              onChange={(role) => {
                change({ role });
              }}
            />
          )}
        </Field>
        {adding.error && <Notice title="Nobody was added." detail={adding.error.message} />}
        <footer>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" className="btn-solid" disabled={adding.isPending}>
            Add
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
