"""`turnlog machines`: where sessions come from, and whose they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click
from msgspec import Struct

from turnlog.cli.accounts import at_cell, dry_option, get_user, opened_accounts, record, to_moment
from turnlog.cli.completion import complete_machines, complete_users
from turnlog.cli.output import Output, color_option, json_option
from turnlog.cli.stores import find_machines, open_for
from turnlog.cli.tables import Column, render_table
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean_line, confirm, yes_option
from turnlog.config import Settings
from turnlog.export.plain_text import plural
from turnlog.store.account_model import Action
from turnlog.store.model import LOCAL, Machine

_SHORT = 8
_COLUMNS = (
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
@json_option
@color_option
def _list(as_json: bool, color: bool | None) -> None:
    """List machines, and how many sessions each has."""
    settings = Settings.from_env()
    output = Output(settings, color)
    with open_for(settings) as store:
        machines = store.list_machines(LOCAL)
    if as_json:
        output.print_json([_build(machine) for machine in machines])
    elif machines:
        now = datetime.now(UTC) if output.is_terminal else None
        width = output.width if output.is_terminal else None
        rows = [list(_cells(machine, now)) for machine in machines]
        output.print(render_table(_COLUMNS, rows, width, color=output.has_color))
    if not machines:
        raise NothingFoundError("no machine is known yet")


@machines_command.command("assign")
@click.argument("machine", shell_complete=complete_machines)
@click.argument("person", required=False, shell_complete=complete_users)
@click.option("--nobody", is_flag=True, help="Remove its owner.")
@dry_option
@yes_option
@json_option
@color_option
def _assign(
    machine: str,
    person: str | None,
    nobody: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Assign a machine to a person, who then owns all of its sessions.

    MACHINE is the beginning of its name, or its host as `turnlog machines list` shows it; PERSON a user.
    """
    if (person is None) is not nobody:
        raise MisuseError("name either a person, or --nobody")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts, open_for(settings, writing=True, existing=True) as store:
        if person is not None:
            get_user(accounts, person)
        found = _choose(store.list_machines(LOCAL), machine)
        if not as_json:
            output.print([_say(found, person)])
        if not dry_run and found.person != person:
            confirm("Apply this change?", yes=yes, as_json=as_json)
            store.save_machine(LOCAL, found.origin, person=person, reassign=True)
            told = f"{found.origin[:_SHORT]} from {found.person or 'nobody'} to {person or 'nobody'}"
            for each in filter(None, (found.person, person)):
                record(accounts, Action.MACHINE_ASSIGNED, person=each, detail=told)
    if as_json:
        output.print_json(
            MachineAssigned(
                origin=found.origin,
                before=found.person,
                person=person,
                sessions=found.sessions,
                done=not dry_run,
            )
        )


def _choose(machines: Sequence[Machine], name: str) -> Machine:
    found = find_machines(machines, name)
    if not found:
        raise NothingFoundError(f"no machine is called or begins with {name}; `turnlog machines list` has them")
    if len(found) > 1:
        names = ", ".join(each.origin[:_SHORT] for each in found)
        raise MisuseError(f"{len(found)} machines match {name}: {names}")
    return found[0]


def _say(machine: Machine, person: str | None) -> str:
    called = clean_line(f"{machine.origin[:_SHORT]} {machine.user}@{machine.host}").rstrip("@ ")
    sessions = plural(machine.sessions, "session")
    if machine.person == person:
        return f"{called} is {_whose(person)} already, with {sessions}"
    return f"{called}, with {sessions}: from {machine.person or 'nobody'} to {person or 'nobody'}"


def _whose(person: str | None) -> str:
    return "nobody's" if person is None else f"{person}'s"


def _build(machine: Machine) -> MachineItem:
    return MachineItem(
        origin=machine.origin,
        person=machine.person,
        host=machine.host,
        user=machine.user,
        first_at=to_moment(machine.first_ns),
        last_at=to_moment(machine.last_ns),
        sessions=machine.sessions,
    )


def _cells(machine: Machine, now: datetime | None) -> Iterator[str]:
    yield clean_line(machine.origin)[:_SHORT]
    yield clean_line(machine.person or "")
    yield clean_line(machine.host)
    yield clean_line(machine.user)
    yield f"{machine.sessions:,}"
    yield at_cell(machine.first_ns, now)
    yield at_cell(machine.last_ns, now)
