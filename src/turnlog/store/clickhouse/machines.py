"""Machines in the control database: what is noted of them, and what goes with them to another person."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import TakenMachineError
from turnlog.store.clickhouse.access import Audience
from turnlog.store.clickhouse.connection import spell_text
from turnlog.store.clickhouse.hook_schema import DELIVERIES
from turnlog.store.clickhouse.transaction import Write
from turnlog.store.packing import unpack_text
from turnlog.store.people import Machine
from turnlog.store.portable.database import Execute, Row

__all__ = ["Noted", "build_machine", "give_machine", "note_again", "note_machine"]

_ADD_MACHINE = """
INSERT INTO @machines (owner, origin, person, host, account, first_ns, last_ns) VALUES (?, ?, ?, ?, ?, ?, ?)
"""


class Noted(Struct, frozen=True):
    """What is to be remembered of a machine."""

    owner: str
    origin: bytes
    person: str | None
    host: bytes
    account: bytes
    at_ns: int


def build_machine(row: Row, sessions: int) -> Machine:
    """Return a machine by its row, with how many sessions of it may be seen."""
    origin, person, host, user, first_ns, last_ns = row
    return Machine(
        origin=unpack_text(bytes(origin)),
        person=person,
        host=unpack_text(bytes(host)),
        user=unpack_text(bytes(user)),
        first_ns=first_ns,
        last_ns=last_ns,
        sessions=sessions,
    )


def note_again(execute: Execute, noted: Noted) -> bool:
    """Note a machine that is known, if nothing is to be said of whose it is; return whether that was so."""
    told = {"host": noted.host, "account": noted.account}
    names = [name for name, value in told.items() if value]
    times = "first_ns = CASE WHEN first_ns < ? THEN first_ns ELSE ? END"
    times += ", last_ns = CASE WHEN last_ns > ? THEN last_ns ELSE ? END"
    whose = "" if noted.person is None else " AND person = ?"
    return bool(
        execute(
            f"UPDATE @machines SET {''.join(f'{name} = ?, ' for name in names)}{times} "
            f"WHERE owner = ? AND origin = ?{whose} RETURNING origin",
            (
                *(told[name] for name in names),
                *[noted.at_ns] * 4,
                noted.owner,
                noted.origin,
                *([] if noted.person is None else [noted.person]),
            ),
        )
    )


def note_machine(write: Write, audience: Audience, noted: Noted) -> Audience:
    """Note a machine of which it was not known, or not said whose it is."""
    before = audience.persons.get(noted.origin)
    if noted.person is not None and before is not None and before != noted.person:
        raise TakenMachineError(f"The machine is {before}'s; somebody who may assign machines can change that")

    def work(execute: Execute) -> None:
        if not note_again(execute, replace(noted, person=None)):
            cells = noted.owner, noted.origin, None, noted.host, noted.account, noted.at_ns, noted.at_ns
            execute(_ADD_MACHINE, cells)
        if noted.person is not None:
            execute(
                "UPDATE @machines SET person = ? WHERE owner = ? AND origin = ?",
                (noted.person, noted.owner, noted.origin),
            )

    write.also(work)
    if noted.person is None or before == noted.person:
        return audience
    return give_machine(write, audience, noted.owner, noted.origin, noted.person)


def give_machine(write: Write, audience: Audience, owner: str, origin: bytes, person: str | None) -> Audience:
    """Give what a machine told, and what was forgotten of it, to a person; return what follows from that."""
    write.also(
        lambda execute: execute(
            "UPDATE @tombstones SET person = ? WHERE owner = ? AND origin = ?", (person, owner, origin)
        )
    )
    if person is None:
        named, others = "NULL", "person IS NOT NULL"
    else:
        named = spell_text(person)
        others = f"(person IS NULL OR person != {named})"
    where = f"owner = {spell_text(owner)} AND origin = {spell_text(origin)} AND {others}"
    write.renew(DELIVERIES, {"person": named}, where)
    return Audience(audience.rules, {**audience.persons, origin: person})
