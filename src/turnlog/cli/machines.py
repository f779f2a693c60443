"""`turnlog machines`: where sessions come from, and whose they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import click
from msgspec import Struct

from turnlog.cli.accounts import at_cell, dry_option, get_user, opened_accounts, record
from turnlog.cli.completion import complete_machines, complete_users
from turnlog.cli.output import Output, output_options
from turnlog.cli.stores import find_machines, open_for
from turnlog.cli.tables import Column, show_list
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean_line, yes_option
from turnlog.export.plain import plural
from turnlog.shapes import fill, fill_dated
from turnlog.store.accounts.interface import Action
from turnlog.store.model import LOCAL, Machine

_SHORT = 8
_MACHINE_COLUMNS = (
    Column("machine"),
    Column("person"),
    Column("host", least=8),
    Column("user", least=6),
    Column("sessions", right=True),
    Column("first", right=True, optional=2),
    Column("last", right=True, optional=1),
)


class MachineItem(Struct, frozen=True, gc=False, kw_only=True):
    """A machine as `turnlog machines list --json` prints it."""

    origin: str
    person: str | None
    host: str
    user: str
    first_at: datetime | None
    last_at: datetime | None
    sessions: int


class MachineAssigned(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog machines assign --json` prints."""

    origin: str
    before: str | None
    person: str | None
    sessions: int
    done: bool
    """False for a dry run."""


@click.group(
    "machines",
    epilog="""\b
Examples:
  turnlog machines list
  turnlog machines assign 3f9a ada       by the beginning of its name
  turnlog machines assign build-7 ben    by its host
  turnlog machines assign 3f9a --nobody
""",
)
def machines_command() -> None:
    """List the machines that sessions come from, and say who owns them.

    A session belongs to the person whose machine it comes from. A machine that pushes with a token belongs to
    the token's user; what is archived on the server itself belongs to nobody until you assign it here. These
    commands act on the archive itself, as its operator; the audit log records what they do.
    """


@machines_command.command("list")
@output_options(pages=True)
def _list_machines(output: Output) -> None:
    """List machines, and how many sessions each has."""
    settings = output.settings
    with open_for(settings) as store:
        machines = store.list_machines(LOCAL)
    show_list(output, machines, _build_machine, _MACHINE_COLUMNS, _machine_cells, "no machine is known yet")


@machines_command.command("assign")
@click.argument("machine", shell_complete=complete_machines)
@click.argument("person", required=False, shell_complete=complete_users)
@click.option("--nobody", is_flag=True, help="Remove its owner.")
@dry_option
@yes_option
@output_options()
def _assign_machine(
    machine: str,
    person: str | None,
    nobody: bool,
    dry_run: bool,
    yes: bool,
    output: Output,
) -> None:
    """Assign a machine to a person, who then owns all of its sessions.

    MACHINE is the beginning of its name, or its host as `turnlog machines list` shows it; PERSON a user.
    """
    if (person is None) is not nobody:
        raise MisuseError("name either a person, or --nobody")
    settings = output.settings
    with opened_accounts(settings) as accounts, open_for(settings, writing=True, existing=True) as store:
        if person is not None:
            get_user(accounts, person)
        found = _choose_machine(store.list_machines(LOCAL), machine)
        if not output.as_json:
            output.print([_describe_assignment(found, person)])
        if not dry_run and found.person != person:
            output.confirm("Apply this change?", yes=yes)
            store.save_machine(LOCAL, found.origin, person=person, reassign=True)
            told = f"{found.origin[:_SHORT]} from {found.person or 'nobody'} to {person or 'nobody'}"
            for each in filter(None, (found.person, person)):
                record(accounts, Action.MACHINE_ASSIGNED, person=each, detail=told)
    if output.as_json:
        output.print_json(fill(MachineAssigned, found, before=found.person, person=person, done=not dry_run))


def _choose_machine(machines: Sequence[Machine], name: str) -> Machine:
    found = find_machines(machines, name)
    if not found:
        raise NothingFoundError(f"no machine is called or begins with {name}; `turnlog machines list` has them")
    if len(found) > 1:
        names = ", ".join(each.origin[:_SHORT] for each in found)
        raise MisuseError(f"{len(found)} machines match {name}: {names}")
    return found[0]


def _describe_assignment(machine: Machine, person: str | None) -> str:
    called = clean_line(f"{machine.origin[:_SHORT]} {machine.user}@{machine.host}").rstrip("@ ")
    sessions = plural(machine.sessions, "session")
    if machine.person == person:
        return f"{called} is {person or 'nobody'}'s already, with {sessions}"
    return f"{called}, with {sessions}: from {machine.person or 'nobody'} to {person or 'nobody'}"


def _build_machine(machine: Machine) -> MachineItem:
    return fill_dated(MachineItem, machine)


def _machine_cells(machine: Machine, now: datetime | None) -> Iterator[str]:
    yield clean_line(machine.origin)[:_SHORT]
    yield clean_line(machine.person or "")
    yield clean_line(machine.host)
    yield clean_line(machine.user)
    yield f"{machine.sessions:,}"
    yield at_cell(machine.first_ns, now)
    yield at_cell(machine.last_ns, now)
