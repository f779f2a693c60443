"""What is left of sessions that were forgotten: they are not taken again.

A tombstone has the key of a session, and its id, but nothing that was said. They are in the control database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from turnlog.store.care import Tombstone
from turnlog.store.control.interface import Control
from turnlog.store.control.machines import find_persons
from turnlog.store.identity import Scope
from turnlog.store.packing import as_word
from turnlog.store.portable.database import Execute, Row, pack_text, unpack_text

__all__ = ["bury", "lift_tombstones", "list_forgotten", "list_forgotten_ids", "list_tombstones"]

_KEY, _ID = "session-key", "session-id"
_AT_ONCE = 500
"""How many values a statement has at most."""
_LIST = """
SELECT k.session, i.value, k.at_ns, k.person, k.origin FROM @tombstones AS k
LEFT JOIN @tombstones AS i ON i.owner = k.owner AND i.session = k.session AND i.kind = ?
WHERE k.owner = ? AND k.kind = ? ORDER BY k.at_ns, k.session
"""
_BURY = "INSERT INTO @tombstones VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"


def list_forgotten(control: Control, owner: str, keys: Iterable[str]) -> set[str]:
    """Return which sessions were forgotten."""
    names = [key for key in dict.fromkeys(keys) if as_word(key) is not None]
    query = "SELECT session FROM @tombstones WHERE owner = ? AND kind = ?"
    rows = _ask(control, query, "session", (owner, _KEY), names)
    return {session for (session,) in rows}


def list_forgotten_ids(control: Control, owner: str, told: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return which ids of sessions, each told by a machine, were forgotten by the person whose that is."""
    ids = [pack_text(id) for id in sorted({id for id, _ in told})]
    query = "SELECT value, person FROM @tombstones WHERE owner = ? AND kind = ?"
    rows = _ask(control, query, "value", (owner, _ID), ids)
    forgotten = {(unpack_text(value), person) for value, person in rows}
    if not forgotten:
        return set()
    persons = find_persons(control, owner, {origin for _, origin in told})
    return {(id, origin) for id, origin in told if (id, persons.get(origin)) in forgotten}


def list_tombstones(control: Control, scope: Scope) -> list[Tombstone]:
    """Return what was forgotten, by time: for a viewer, of their own."""
    rows = control.read(lambda execute: execute(_LIST, (_ID, scope.owner, _KEY)))
    found = [
        Tombstone(key, unpack_text(session_id), at_ns, person, unpack_text(origin) or "")
        for key, session_id, at_ns, person, origin in rows
    ]
    if scope.viewer is None:
        return found
    person = scope.viewer.person
    return [each for each in found if person is not None and each.person == person]


def bury(execute: Execute, owner: str, tombstones: Iterable[Tombstone]) -> None:
    """Add tombstones, in the transaction of the caller."""
    for tombstone in tombstones:
        for kind, value in ((_KEY, tombstone.key), (_ID, tombstone.session_id)):
            if value is not None:
                whose = tombstone.person, pack_text(tombstone.origin)
                execute(_BURY, (owner, tombstone.key, kind, pack_text(value), tombstone.at_ns, *whose))


def lift_tombstones(execute: Execute, scope: Scope, keys: Iterable[str]) -> int:
    """Let sessions come back; return how many were forgotten. A viewer lifts their own."""
    lifted = 0
    for key in dict.fromkeys(keys):
        if as_word(key) is None:
            continue
        where, values = "owner = ? AND session = ?", [scope.owner, key]
        if scope.viewer is not None:
            if scope.viewer.person is None:
                continue
            where, values = f"{where} AND person = ?", [*values, scope.viewer.person]
        lifted += bool(execute(f"DELETE FROM @tombstones WHERE {where} RETURNING session", values))
    return lifted


def _ask(
    control: Control, query: str, column: str, values: Sequence[object], wanted: Sequence[object]
) -> list[Row]:
    """Return the rows of a query in which a column has one of many values."""
    found: list[Row] = []
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        spelled = f"{query} AND {column} IN ({', '.join('?' * len(some))})"
        found += control.read(lambda execute, s=spelled, v=(*values, *some): execute(s, v))  # type: ignore[misc]
    return found
