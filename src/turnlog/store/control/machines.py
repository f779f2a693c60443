"""Which locks a writer needs: of machines whose sessions it writes, and of the persons whose they are.

Usage is counted by person, so whoever writes sessions of one keeps others from it.
"""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.store.control.interface import Control
from turnlog.store.portable.database import pack_text

__all__ = ["find_persons", "list_locks", "name_machine", "name_person"]


def name_machine(origin: str) -> str:
    """Return the name of the lock of a machine."""
    return f"m:{origin}"


def name_person(person: str) -> str:
    """Return the name of the lock of a person."""
    return f"p:{person}"


def find_persons(control: Control, owner: str, origins: Iterable[str]) -> dict[str, str | None]:
    """Return whose machines are, those that are known."""
    wanted = sorted(set(origins))
    if not wanted:
        return {}
    places = ", ".join("?" * len(wanted))
    query = f"SELECT origin, person FROM @machines WHERE owner = ? AND origin IN ({places})"
    packed = {pack_text(origin): origin for origin in wanted}
    rows = control.read(lambda execute: execute(query, (owner, *packed)))
    return {packed[bytes(origin)]: person for origin, person in rows}


def list_locks(control: Control, owner: str, origins: Iterable[str]) -> list[str]:
    """Return the names of the locks for writing sessions of some machines, in order."""
    wanted = set(origins)
    persons = {person for person in find_persons(control, owner, wanted).values() if person is not None}
    return sorted([*map(name_machine, wanted), *map(name_person, persons)])
