"""Whose sessions are whose, in their tables: machines, rules, and what follows for each session.

Whatever changes any of it brings `access` up to date in the same transaction, and tells in the feed where
others see a session from now on, or no longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import apsw
from msgspec import Struct, json

from turnlog.errors import TakenMachineError
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility
from turnlog.store.sqlite.values import pack_text, unpack_text
from turnlog.store.visibility import NOBODYS, AccessState, RuleMatcher

__all__ = [
    "add_machine",
    "assign_machine",
    "find_person",
    "list_access",
    "list_machines",
    "list_misjudged",
    "list_own",
    "list_rules",
    "note_machine",
    "refresh_access",
    "set_rule",
    "set_visibility",
    "preview_rule",
]

Affect = Callable[[int], None]
"""Called with the number of each session whose person, or whose being shared, is another one now."""

_SESSIONS = """
SELECT e.id, e.owner, e.key, e.origin, e.revision, t.project, m.person, a.person, a.chosen, a.rule, a.shared
FROM sessions AS e LEFT JOIN summaries AS t ON t.session = e.id LEFT JOIN access AS a ON a.session = e.id
LEFT JOIN machines AS m ON m.owner = e.owner AND m.origin = e.origin
"""
_INSERT_CHANGE = """
INSERT INTO changes (owner, kind, session, revision, at_ns, person, former, shared)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""


class _Session(Struct, frozen=True, gc=False):
    """A session, with what decides who sees it, and what is kept of that."""

    id: int
    owner: str
    key: str
    origin: str
    revision: int
    project: str | None
    person: str | None
    """Of its machine."""
    kept: AccessState


def list_own(scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Return the condition that a session `e` may be changed within a scope, and its values."""
    if scope.viewer is None:
        return "true", ()
    return "e.id IN (SELECT session FROM access WHERE person = ?)", (scope.viewer.person or "",)


def find_person(connection: apsw.Connection, owner: str, origin: str) -> str | None:
    """Return whose machine it is; None if nobody said."""
    query = "SELECT person FROM machines WHERE owner = ? AND origin = ?"
    return next((person for (person,) in connection.execute(query, (owner, pack_text(origin)))), None)


def add_machine(connection: apsw.Connection, owner: str, origin: str, at_ns: int) -> None:
    """Make a machine known from which the first session has come."""
    query = "INSERT OR IGNORE INTO machines VALUES (?, ?, NULL, '', '', ?, ?)"
    connection.execute(query, (owner, pack_text(origin), at_ns, at_ns))


def refresh_access(connection: apsw.Connection, session: int, affect: Affect) -> None:
    """Bring up to date who may see a session, behind a batch of it; the batch's own entry tells of it."""
    [found] = _list_sessions(connection, "e.id = ?", session)
    now = _load_rules(connection, found.owner).build_state(found.person, found.kept.chosen, found.project)
    if now != found.kept:
        _write(connection, found, now, affect)


def list_misjudged(connection: apsw.Connection, scope: Scope) -> list[str]:
    """Return the keys of sessions of which `access` does not say what follows for them."""
    rules = _load_rules(connection, scope.owner)
    return [found.key for found, _ in _list_differing(connection, Scope(scope.owner), rules)]


def note_machine(
    connection: apsw.Connection,
    scope: Scope,
    origin: str,
    person: str | None,
    host: str,
    user: str,
    at_ns: int,
    affect: Affect,
) -> None:
    """Remember that something came from a machine, and whose it is."""
    query = "SELECT person, host, user, first_ns, last_ns FROM machines WHERE owner = ? AND origin = ?"
    place = scope.owner, pack_text(origin)
    known = connection.execute(query, place).fetchone() or (None, "", "", at_ns, at_ns)
    if person is not None and known[0] not in (None, person):
        raise TakenMachineError(f"The machine {origin} belongs to another person")
    cells = known[0] or person, host or known[1], user or known[2], min(known[3], at_ns), max(known[4], at_ns)
    connection.execute("INSERT OR REPLACE INTO machines VALUES (?, ?, ?, ?, ?, ?, ?)", (*place, *cells))
    if person is not None and known[0] is None:
        _hand_over(connection, scope.owner, origin, affect)


def assign_machine(
    connection: apsw.Connection, scope: Scope, origin: str, person: str | None, affect: Affect
) -> None:
    """Say whose a machine is."""
    place = scope.owner, pack_text(origin)
    query = "SELECT person, host, user, first_ns, last_ns FROM machines WHERE owner = ? AND origin = ?"
    known = connection.execute(query, place).fetchone()
    if known is None:
        raise KeyError(origin)
    if known[0] == person:
        return
    connection.execute(
        "INSERT OR REPLACE INTO machines VALUES (?, ?, ?, ?, ?, ?, ?)", (*place, person, *known[1:])
    )
    _hand_over(connection, scope.owner, origin, affect)


def list_machines(connection: apsw.Connection, scope: Scope, origin: str | None = None) -> list[Machine]:
    """Return machines, each with the number of its sessions."""
    query = """
    SELECT m.origin, m.person, m.host, m.user, m.first_ns, m.last_ns, ifnull(c.sessions, 0) FROM machines AS m
    LEFT JOIN (
        SELECT origin, count(*) AS sessions FROM sessions WHERE owner = :owner GROUP BY origin
    ) AS c ON c.origin = m.origin
    WHERE m.owner = :owner AND (:origin IS NULL OR m.origin = :origin)
    """
    rows = connection.execute(query, {"owner": scope.owner, "origin": pack_text(origin)})
    found = [
        Machine(
            origin=unpack_text(name),
            person=person,
            host=host,
            user=user,
            first_ns=first,
            last_ns=last,
            sessions=n,
        )
        for name, person, host, user, first, last, n in rows
    ]
    return sorted(found, key=lambda machine: (machine.host, machine.user, machine.origin))


def list_access(
    connection: apsw.Connection, scope: Scope, keys: Collection[str] | None = None
) -> list[SessionAccess]:
    """Return who may see sessions, of all or of some, by key."""
    where, values = "e.owner = ?", [scope.owner]
    if keys is not None:
        where += " AND e.key IN (SELECT value FROM json_each(?))"
        values.append(json.encode([key for key in keys if isinstance(pack_text(key), str)]).decode())
    sessions = _list_sessions(connection, where, *values)
    return [found.kept.describe(found.key, found.origin) for found in sessions]


def set_visibility(
    connection: apsw.Connection, scope: Scope, keys: Sequence[str], chosen: Visibility | None, affect: Affect
) -> list[SessionAccess]:
    """Say who sees sessions; return those of which that was not said before."""
    rules = _load_rules(connection, scope.owner)
    own, values = list_own(scope)
    done = []
    for key in dict.fromkeys(keys):
        for found in _list_sessions(
            connection, f"e.owner = ? AND e.key = ? AND {own}", scope.owner, key, *values
        ):
            if found.kept.chosen is not chosen:
                now = rules.build_state(found.person, chosen, found.project)
                _write(connection, found, now, affect)
                if now.shared != found.kept.shared:
                    _tell(connection, found, now)
                done.append(now.describe(found.key, found.origin))
    return done


def list_rules(connection: apsw.Connection, scope: Scope) -> list[ProjectRule]:
    """Return the rules, by pattern."""
    query = "SELECT pattern, visibility FROM rules WHERE owner = ? ORDER BY pattern"
    rows = connection.execute(query, (scope.owner,))
    return [ProjectRule(unpack_text(pattern), Visibility(visibility)) for pattern, visibility in rows]


def set_rule(
    connection: apsw.Connection, scope: Scope, pattern: str, visibility: Visibility | None, affect: Affect
) -> int:
    """Set or remove a rule; return how many sessions others see, or don't, by that."""
    packed = pack_text(pattern)
    connection.execute("DELETE FROM rules WHERE owner = ? AND pattern = ?", (scope.owner, packed))
    if visibility is not None:
        connection.execute("INSERT INTO rules VALUES (?, ?, ?)", (scope.owner, packed, str(visibility)))
    rules = _load_rules(connection, scope.owner)
    count = 0
    for found, now in _list_differing(connection, scope, rules):
        _write(connection, found, now, affect)
        if now.shared != found.kept.shared:
            _tell(connection, found, now)
            count += 1
    return count


def preview_rule(connection: apsw.Connection, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
    """Return what `set_rule` would."""
    others = [rule for rule in list_rules(connection, scope) if rule.pattern != pattern]
    rules = RuleMatcher([*others, *([] if visibility is None else [ProjectRule(pattern, visibility)])])
    differing = _list_differing(connection, scope, rules)
    return sum(now.shared != found.kept.shared for found, now in differing)


def _list_sessions(connection: apsw.Connection, where: str, *values: Any) -> list[_Session]:
    rows: Iterable[tuple[Any, ...]] = connection.execute(f"{_SESSIONS} WHERE {where} ORDER BY e.key", values)
    return [
        _Session(number, owner, key, unpack_text(origin), revision, unpack_text(project), person, _unpack(kept))
        for number, owner, key, origin, revision, project, person, *kept in rows
    ]


def _unpack(cells: Sequence[Any]) -> AccessState:
    person, chosen, rule, shared = cells
    return AccessState(person, None if chosen is None else Visibility(chosen), unpack_text(rule), bool(shared))


def _load_rules(connection: apsw.Connection, owner: str) -> RuleMatcher:
    return RuleMatcher(list_rules(connection, Scope(owner)))


def _list_differing(
    connection: apsw.Connection, scope: Scope, rules: RuleMatcher
) -> list[tuple[_Session, AccessState]]:
    sessions = _list_sessions(connection, "e.owner = ?", scope.owner)
    found = ((each, rules.build_state(each.person, each.kept.chosen, each.project)) for each in sessions)
    return [(each, now) for each, now in found if now != each.kept]


def _hand_over(connection: apsw.Connection, owner: str, origin: str, affect: Affect) -> None:
    """Give the sessions of a machine, and what is left of others, to its person."""
    rules, place = _load_rules(connection, owner), (owner, pack_text(origin))
    sessions = _list_sessions(connection, "e.owner = ? AND e.origin = ?", *place)
    for found in [each for each in sessions if each.person != each.kept.person]:
        now = rules.build_state(found.person, found.kept.chosen, found.project)
        _write(connection, found, now, affect)
        _tell(connection, found, now)
    query = "UPDATE tombstones SET person = ? WHERE owner = ? AND origin = ?"
    connection.execute(query, (find_person(connection, owner, origin), *place))


def _write(connection: apsw.Connection, found: _Session, now: AccessState, affect: Affect) -> None:
    connection.execute("DELETE FROM access WHERE session = ?", (found.id,))
    if now != NOBODYS:
        chosen = None if now.chosen is None else str(now.chosen)
        cells = found.id, now.person, chosen, pack_text(now.rule), now.shared
        connection.execute("INSERT INTO access VALUES (?, ?, ?, ?, ?)", cells)
    if (now.person, now.shared) != (found.kept.person, found.kept.shared):
        affect(found.id)


def _tell(connection: apsw.Connection, found: _Session, now: AccessState) -> None:
    """Make an entry in the feed, for those who could see a session before or can now."""
    head = found.owner, str(ChangeKind.SESSION_ACCESS), found.key, found.revision, time.time_ns()
    audience = now.person, found.kept.person, now.shared or found.kept.shared
    connection.execute(_INSERT_CHANGE, (*head, *audience))
