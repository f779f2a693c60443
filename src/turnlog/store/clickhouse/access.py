"""Who may see which session, kept up with all that it follows from: machines, rules, projects, what was chosen.

What follows is in the session's own row. When a rule or a machine becomes another, sessions are looked at in
groups, of which all is the same that it follows from; those for which something else follows are inserted anew
within the engine, some thousands with each write.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from msgspec import Struct

from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.access_states import show_choice
from turnlog.store.clickhouse.connection import Engine, spell_text
from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.record import Session
from turnlog.store.clickhouse.session_schema import SESSIONS
from turnlog.store.clickhouse.transaction import Write
from turnlog.store.control.interface import Control
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.people import ProjectRule, Visibility
from turnlog.store.portable.database import Execute
from turnlog.store.visibility import AccessState, RuleMatcher

__all__ = [
    "AT_ONCE",
    "Audience",
    "Group",
    "Settled",
    "find_state",
    "list_groups",
    "list_members",
    "list_own",
    "list_rules",
    "read_audience",
    "write_access",
]

AT_ONCE = 5000
"""How many sessions are inserted anew by one write: no more of them are in memory at once."""
_MOST_GROUPS = 2000
"""How many groups are asked for by one statement."""
_MOST_SPELLED = 5000
"""How many sessions a statement names: it may not be longer than 256 KiB."""
_ALL = "project, origin, person, chosen, rule, shared"
_NAME = f"hex(sipHash128(toString(({_ALL}))))"
"""What tells one group from another."""
_GROUPS = f"SELECT {_NAME}, {_ALL}, count() FROM sessions FINAL WHERE {{}} GROUP BY {_ALL}"
_MEMBERS = f"""
SELECT {_NAME} AS group, id, key, revision FROM sessions FINAL
WHERE owner = {{owner:String}} AND group IN {{groups:Array(String)}} ORDER BY id LIMIT {{limit:UInt64}}
"""
_SHARED_ANSWERS = """
SELECT answer FROM sightings WHERE answer IN (
    SELECT answer FROM rows WHERE session IN {sessions:Array(UInt128)} AND kind = 6
) GROUP BY answer HAVING uniqExact(session) > 1
"""


class Audience:
    """What access follows from: the rules for projects, and whose machines are."""

    def __init__(self, rules: Sequence[ProjectRule], persons: dict[bytes, str | None]) -> None:
        self.rules = rules
        self.persons = persons
        """By the machine's packed name; of machines that are not known there is none."""
        self._matcher = RuleMatcher(rules)

    def build_state(self, origin: bytes, project: bytes | None, chosen: bool | None) -> AccessState:
        """Return who may see a session."""
        return self._matcher.build_state(self.persons.get(origin), show_choice(chosen), unpack_text(project))


class Group(Struct, frozen=True, gc=False):
    """Sessions of which all is the same that access follows from."""

    name: bytes
    before: AccessState
    """What there is."""
    after: AccessState
    """What follows."""
    sessions: int


class Settled(Struct, frozen=True, gc=False):
    """A session for which something else follows than what there is."""

    id: int
    key: str
    revision: int
    before: AccessState
    after: AccessState

    @property
    def is_told(self) -> bool:
        """Whether others see it from now on, or no longer, or it is another's."""
        return (self.before.person, self.before.shared) != (self.after.person, self.after.shared)


def list_rules(execute: Execute, owner: str) -> list[ProjectRule]:
    """Return the rules for projects, by pattern."""
    rows = execute("SELECT pattern, shared FROM @rules WHERE owner = ? ORDER BY pattern", (owner,))
    return [
        ProjectRule(unpack_text(bytes(pattern)), Visibility.TEAM if shared else Visibility.PRIVATE)
        for pattern, shared in rows
    ]


def read_audience(control: Control, owner: str) -> Audience:
    """Return what the access of an owner's sessions follows from; whoever writes it has a lock by now."""

    def read_persons(execute: Execute) -> dict[bytes, str | None]:
        rows = execute("SELECT origin, person FROM @machines WHERE owner = ?", (owner,))
        return {bytes(origin): person for origin, person in rows}

    return Audience(control.read(lambda execute: list_rules(execute, owner)), control.read(read_persons))


def find_state(session: Session) -> AccessState:
    """Return who may see a session, as it is there."""
    return AccessState(
        unpack_text(session.person), show_choice(session.chosen), unpack_text(session.rule), session.shared
    )


def list_own(
    reading: Reading, keys: Iterable[str], columns: Sequence[str] = SESSIONS.names
) -> dict[str, Session]:
    """Return the sessions that may be changed, by their keys and in their order: for a viewer, their own."""
    names = list(dict.fromkeys(keys))
    found = reading.find(names, columns)
    viewer = reading.scope.viewer
    if viewer is not None:
        own = pack_text(viewer.person)
        found = {key: each for key, each in found.items() if own is not None and each.person == own}
    return {name: found[name] for name in names if name in found}


def list_groups(engine: Engine, owner: str, audience: Audience, where: str = "true") -> list[Group]:
    """Return the groups for which something else follows than what there is.

    `where` is a condition on sessions. There are at most as many as there are projects on machines.
    """
    groups = []
    for name, project, origin, person, chosen, rule, shared, sessions in engine.query(
        _GROUPS.format(f"owner = {spell_text(owner)} AND {where}")
    ):
        before = AccessState(unpack_text(person), show_choice(chosen), unpack_text(rule), shared)
        after = audience.build_state(origin, project, chosen)
        if before != after:
            groups.append(Group(name, before, after, sessions))
    return groups


def list_members(engine: Engine, owner: str, groups: Iterable[Group]) -> list[Settled]:
    """Return sessions of groups, as many as one write may settle."""
    by_name = {group.name: group for group in groups}
    some = list(by_name)[:_MOST_GROUPS]
    if not some:
        return []
    rows = engine.query(_MEMBERS, {"owner": owner, "groups": some, "limit": AT_ONCE})
    return [
        Settled(id, unpack_text(key), revision, by_name[name].before, by_name[name].after)
        for name, id, key, revision in rows
    ]


def write_access(engine: Engine, write: Write, owner: str, settled: Sequence[Settled]) -> None:
    """Write what follows for sessions, have usage counted anew, and tell of it."""
    alike: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for each in settled:
        alike.setdefault(_list_changed(each), []).append(each.id)
    for changed, ids in alike.items():
        for at in range(0, len(ids), _MOST_SPELLED):
            named = f"CAST('{ids[at : at + _MOST_SPELLED]}', 'Array(UInt128)')"
            write.renew(SESSIONS, dict(changed), f"owner = {spell_text(owner)} AND id IN {named}")
    told = [each for each in settled if each.is_told]
    for at in range(0, len(told), AT_ONCE):
        some = [each.id for each in told[at : at + AT_ONCE]]
        write.note_moved(answer for (answer,) in engine.query(_SHARED_ANSWERS, {"sessions": some}))
    at_ns = time.time_ns()
    for each in told:
        write.note_change(
            NewChange(
                owner,
                ChangeKind.SESSION_ACCESS,
                each.key,
                each.revision,
                at_ns,
                person=each.after.person,
                former=each.before.person,
                shared=each.before.shared or each.after.shared,
            )
        )


def _list_changed(settled: Settled) -> tuple[tuple[str, str], ...]:
    """Return the columns that become others, and what they become: mostly the same for many sessions."""
    before, after = _spell(settled.before), _spell(settled.after)
    return tuple((name, value) for name, value in after.items() if value != before[name])


def _spell(state: AccessState) -> dict[str, str]:
    chosen = None if state.chosen is None else state.chosen is Visibility.TEAM
    return {
        "person": "NULL" if state.person is None else spell_text(state.person),
        "chosen": "NULL" if chosen is None else str(chosen).lower(),
        "rule": "NULL" if state.rule is None else spell_text(state.rule),
        "shared": str(state.shared).lower(),
    }
