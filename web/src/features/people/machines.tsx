/** Where sessions come from, and whose they are by that. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link } from "wouter";

import type { Me } from "@/api/me";
import { assignMachine, machinesQuery } from "@/api/people";
import type { Machine, User } from "@/api/people";
import { formatAgo, formatCount, formatCounted, formatMoment } from "@/lib/format";
import { fullNameOf, machineName } from "@/lib/people";
import { NO_FILTER, sessionsPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { useClock } from "@/state/use-clock";
import { Button } from "@/ui/controls";
import { Dialog } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

interface MachinesProps {
  readonly me: Me;
  readonly users: readonly User[];
  readonly onDone: (said: string) => void;
}

export function Machines({ me, users, onDone }: MachinesProps) {
  const { data, error } = useQuery(machinesQuery());
  const [assigned, setAssigned] = useState<Machine | null>(null);
  return (
    <section className="fig" aria-labelledby="machines-title">
      <header>
        <h2 id="machines-title">Machines {data && <span className="n">{formatCount(data.length)}</span>}</h2>
      </header>
      <p className="quiet">
        Sessions belong to the owner of the machine they come from.
        {!me.is_admin && " You see your own machines, and those of shared sessions."}
      </p>
      {error && <Notice title="The machines could not be listed." detail={error.message} />}
      {!data && !error && <Skeleton rows={2} shape="turn" />}
      {data?.length === 0 && (
        <p className="pe-none">
          No machine has pushed anything yet. Create a machine token in an account: it comes with the commands
          to run there.
        </p>
      )}
      <ul className="ar-list">
        {data?.map((machine) => (
          <li key={machine.origin} className="ar-row pe-machine">
            <span className="clip" title={machine.origin}>
              <bdi>{showControls(machineName(machine))}</bdi>
              <span className="meta"> {machine.person ?? "nobody’s"}</span>
            </span>
            <Link className="meta" href={sessionsPath({ ...NO_FILTER, machine: machine.origin })}>
              {formatCounted(machine.sessions, "session")}
            </Link>
            <Last at={machine.last_at} />
            {me.is_admin && (
              <span className="row-acts">
                <Button
                  className="btn-s btn-bare"
                  aria-label={`Assign ${machineName(machine)}`}
                  onClick={() => {
                    setAssigned(machine);
                  }}
                >
                  Assign…
                </Button>
              </span>
            )}
          </li>
        ))}
      </ul>
      {assigned && (
        <AssignDialog
          machine={assigned}
          users={users}
          onDone={onDone}
          onClose={() => {
            setAssigned(null);
          }}
        />
      )}
    </section>
  );
}

function Last({ at }: { readonly at: string }) {
  const ago = useClock((now) => formatAgo(now - Date.parse(at)));
  return (
    <span className="meta num" title={`Last pushed ${formatMoment(at)}`}>
      {ago}
    </span>
  );
}

interface AssignDialogProps {
  readonly machine: Machine;
  readonly users: readonly User[];
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

function AssignDialog({ machine, users, onDone, onClose }: AssignDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => dialog.current?.close();
  const [person, setPerson] = useState(machine.person ?? "");
  const assigning = useMutation({
    mutationFn: () => assignMachine(machine.origin, person === "" ? null : person),
  });
  const name = machineName(machine);
  const changed = person !== (machine.person ?? "");
  return (
    <Dialog dialog={dialog} title="Whose machine is this?" subject={showControls(name)} onClose={onClose}>
      <form
        className="fields"
        onSubmit={(event) => {
          event.preventDefault();
          assigning.mutate(undefined, {
            onSuccess: ({ sessions }) => {
              onDone(
                `${name} now belongs to ${person === "" ? "nobody" : person}, with ${formatCounted(sessions, "session")}.`,
              );
              close();
            },
          });
        }}
      >
        <Field name="Person">
          {(ties) => (
            <select
              {...ties}
              value={person}
              onChange={(event) => {
                setPerson(event.currentTarget.value);
              }}
            >
              <option value="">Nobody</option>
              {users.map((user) => (
                <option key={user.name} value={user.name}>
                  {showControls(fullNameOf(user))}
                  {user.disabled ? ", disabled" : ""}
                </option>
              ))}
            </select>
          )}
        </Field>
        <p role="status">{changed && describe(machine, person)}</p>
        {assigning.error && <Notice title="It was not assigned." detail={assigning.error.message} />}
        <footer>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" className="btn-solid" disabled={!changed || assigning.isPending}>
            Assign
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function describe(machine: Machine, person: string): string {
  const sessions = formatCounted(machine.sessions, "session");
  const from = machine.person === null ? "" : ` ${machine.person} will see only those that are shared.`;
  return person === ""
    ? `${sessions} will have no owner: only admins see those that are not shared.${from}`
    : `${sessions} will belong to ${person}, and so will everything it pushes later.${from}`;
}
