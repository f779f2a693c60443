"""Who may see sessions that are written: by whose machine it is, what was chosen, and the rules for projects.

Whoever changes what it follows from has the locks of all sessions that are concerned, so what is read here
holds until the write is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.record import Session
from turnlog.store.clickhouse.transaction import Write
from turnlog.store.control.interface import Control
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.people import ProjectRule, Visibility
from turnlog.store.portable.database import Execute, Row
from turnlog.store.visibility import AccessState, RuleMatcher

__all__ = ["AccessStates", "settle_access", "show_choice", "with_access"]

_RULES = "SELECT pattern, shared FROM @rules WHERE owner = ? ORDER BY pattern"
_MACHINES = "SELECT origin, person FROM @machines WHERE owner = ? AND origin IN ({})"
_MAKE_KNOWN = """
INSERT INTO @machines (owner, origin, host, account, first_ns, last_ns) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""
_ANSWERS = """
SELECT answer FROM sightings WHERE answer IN (
    SELECT answer FROM rows WHERE session = {session:UInt128} AND kind = 6
) GROUP BY answer HAVING uniqExact(session) > 1
"""


class AccessStates:
    """What follows for sessions of some machines."""

    def __init__(self, control: Control, owner: str, origins: Collection[str]) -> None:
        self._owner = owner
        self._machines = _list_machines(control, owner, origins)
        rules = control.read(lambda execute: execute(_RULES, (owner,)))
        self._matcher = RuleMatcher(map(_unpack_rule, rules))

    def find(self, session: Session) -> AccessState:
        """Return who may see a session as it is now."""
        person = self._machines.get(unpack_text(session.origin))
        return self._matcher.build_state(person, show_choice(session.chosen), unpack_text(session.project))

    def make_known(self, execute: Execute, seen: Mapping[str, int]) -> None:
        """Note machines that nobody told of, each with the time in nanoseconds when it was seen."""
        for origin, at_ns in seen.items():
            if origin not in self._machines:
                execute(_MAKE_KNOWN, (self._owner, pack_text(origin), b"", b"", at_ns, at_ns))

    def has_unknown(self, origins: Collection[str]) -> bool:
        """Tell whether there are machines that nobody told of."""
        return any(origin not in self._machines for origin in origins)


def with_access(session: Session, state: AccessState) -> Session:
    """Return a session with who may see it."""
    return replace(
        session,
        person=pack_text(state.person),
        chosen=None if state.chosen is None else state.chosen is Visibility.TEAM,
        rule=pack_text(state.rule),
        shared=state.shared,
    )


def settle_access(
    engine: Engine, write: Write, states: AccessStates, sessions: Iterable[Session]
) -> list[Session]:
    """Return sessions that are written with who may see them; where that is new, usage is counted anew."""
    settled = []
    for before in sessions:
        after = with_access(before, states.find(before))
        settled.append(after)
        # Of one that was not there all sightings are new.
        if before.write and (before.person, before.shared) != (after.person, after.shared):
            found = engine.query(_ANSWERS, {"session": before.id})
            write.note_moved(answer for (answer,) in found)
    return settled


def show_choice(shared: bool | None) -> Visibility | None:
    """Return what a cell says."""
    return None if shared is None else Visibility.TEAM if shared else Visibility.PRIVATE


def _list_machines(control: Control, owner: str, origins: Collection[str]) -> dict[str, str | None]:
    """Return the machines that are known, with the person of each."""
    names = [pack_text(origin) for origin in sorted(origins)]
    if not names:
        return {}
    query = _MACHINES.format(", ".join("?" * len(names)))
    rows = control.read(lambda execute: execute(query, (owner, *names)))
    return {unpack_text(bytes(origin)): person for origin, person in rows}


def _unpack_rule(row: Row) -> ProjectRule:
    pattern, shared = row
    return ProjectRule(unpack_text(bytes(pattern)), Visibility.TEAM if shared else Visibility.PRIVATE)
