"""`/api/machines`: where sessions come from, and whose they are."""

from __future__ import annotations

from typing import Annotated

from litestar import get, put
from litestar.params import JSONBody, PathParameter, RawBody

from turnlog.server.auditing import GivenAudit
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenAccounts, GivenMachines, GivenScope, GivenStore
from turnlog.server.errors import InvalidRequestError, NotFoundError
from turnlog.server.security.callers import GivenCaller
from turnlog.server.security.policies import ADMINS
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.server.shapes.people import Assigned, Assignment, MachineItem
from turnlog.server.views.people import build_entry, view_machine
from turnlog.store.accounts.interface import Action


@get("/api/machines", sync_to_thread=True)
def list_machines(store: GivenStore, visible: GivenScope) -> list[MachineItem]:
    """List machines by host and user: the caller's own, and those of sessions they may see."""
    return [view_machine(machine) for machine in store.list_machines(visible)]


@put("/api/machines/{origin:str}", opt=ADMINS, sync_to_thread=True)
def assign_machine(
    origin: Annotated[str, PathParameter(description="The machine's `origin`.")],
    data: JSONBody[Assignment],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    caller: GivenCaller,
    accounts: GivenAccounts,
    machines: GivenMachines,
    audit: GivenAudit,
) -> Assigned:
    """Assign a machine to a person, who becomes the owner of all its sessions."""
    person = decode_body(body, Assignment).person
    if person is not None and accounts.find_user(person) is None:
        raise InvalidRequestError("There is no such user", ErrorDetail(where="person", message="No such user"))
    found = {machine.origin: machine.person for machine in store.list_machines(visible)}
    if origin not in found:
        raise NotFoundError("There is no such machine")
    before, now = found[origin], store.save_machine(visible, origin, person=person, reassign=True)
    machines.forget(origin)
    if before != person:
        told = f"{origin[:8]} from {before or 'nobody'} to {person or 'nobody'}"
        concerned = [name for name in (before, person) if name is not None]
        audit.record([build_entry(caller, Action.MACHINE_ASSIGNED, name, told) for name in concerned])
    return Assigned(sessions=0 if before == person else now.sessions)


HANDLERS = (list_machines, assign_machine)
