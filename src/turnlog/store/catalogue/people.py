"""Whose sessions are whose: machines, rules, and what follows for each session.

Whatever changes any of it brings the sessions up to date in the same transaction, under the feed's lock, and
tells in the feed where others see a session from now on, or no longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from turnlog.errors import TakenMachineError
from turnlog.store.catalogue.database import Connection, pack_text, unpack_text
from turnlog.store.catalogue.feed import add_change, lock_feed
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility
from turnlog.store.visibility import AccessState, RuleMatcher

Affect = Callable[[int], None]
"""Called with the number of each session whose person, or whose being shared, is another one now."""

_SESSIONS = """
SELECT e.id, e.owner, e.key, e.origin, e.revision, e.project, m.person, e.person, e.chosen, e.rule, e.is_shared
FROM sessions AS e LEFT JOIN machines AS m ON m.owner = e.owner AND m.origin = e.origin
"""
_SAVE_MACHINE = """
INSERT INTO machines (owner, origin, person, host, account, first_ns, last_ns) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (owner, origin) DO UPDATE SET person = excluded.person, host = excluded.host,
    account = excluded.account, first_ns = excluded.first_ns, last_ns = excluded.last_ns
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


def list_own(scope: Scope) -> tuple[str, dict[str, object]]:
    """Return the condition that a session `e` may be changed within a scope, and its values."""
    if scope.viewer is None:
        return "e.owner = :owner", {"owner": scope.owner}
    return "e.owner = :owner AND e.person = :own", {"owner": scope.owner, "own": scope.viewer.person or ""}


def add_machine(connection: Connection, owner: str, origin: str, at_ns: int) -> None:
    """Make a machine known from which the first session has come."""
    query = "INSERT INTO machines VALUES (?, ?, NULL, ?, ?, ?, ?) ON CONFLICT (owner, origin) DO NOTHING"
    connection.execute(query, (owner, pack_text(origin), b"", b"", at_ns, at_ns))


def refresh_access(connection: Connection, session: int, affect: Affect) -> None:
    """Bring up to date who may see a session, behind a batch of it; the batch's own entry tells of it."""
    [found] = _list_sessions(connection, "e.id = :id", {"id": session})
    now = _load_rules(connection, found.owner).build_state(found.person, found.kept.chosen, found.project)
    if now != found.kept:
        _write(connection, found, now, affect)


def list_misjudged(connection: Connection, scope: Scope) -> list[str]:
    """Return the keys of sessions of which is not kept what follows for them."""
    rules = _load_rules(connection, scope.owner)
    return [found.key for found, _ in _list_differing(connection, scope, rules)]


def save_machine(
    connection: Connection,
    owner: str,
    origin: str,
    affect: Affect,
    *,
    person: str | None,
    host: str,
    account: str,
    at_ns: int,
    reassign: bool,
) -> None:
    """Remember that something came from a machine, and whose it is; or say whose it is, whoever had it."""
    lock_feed(connection)
    place = owner, pack_text(origin)
    query = "SELECT person, host, account, first_ns, last_ns FROM machines WHERE owner = ? AND origin = ?"
    rows = connection.execute(query, place)
    if reassign:
        if not rows:
            raise KeyError(origin)
        [(known, *rest)] = rows
        if known != person:
            connection.execute(_SAVE_MACHINE, (*place, person, *rest))
            _hand_over(connection, owner, origin, person, affect)
        return
    known, known_host, known_account, first_ns, last_ns = rows[0] if rows else (None, b"", b"", at_ns, at_ns)
    if person is not None and known not in (None, person):
        raise TakenMachineError(f"The machine {origin} belongs to another person")
    cells = (
        known or person, pack_text(host) or known_host, pack_text(account) or known_account,
        min(first_ns, at_ns), max(last_ns, at_ns),
    )  # fmt: skip
    connection.execute(_SAVE_MACHINE, (*place, *cells))
    if person is not None and known is None:
        _hand_over(connection, owner, origin, person, affect)


def list_machines(connection: Connection, scope: Scope) -> list[Machine]:
    """Return machines, each with the number of its sessions."""
    query = """
    SELECT m.origin, m.person, m.host, m.account, m.first_ns, m.last_ns, coalesce(c.sessions, 0)
    FROM machines AS m LEFT JOIN (
        SELECT origin, count(*) AS sessions FROM sessions WHERE owner = :owner GROUP BY origin
    ) AS c ON c.origin = m.origin WHERE m.owner = :owner
    """
    found = [
        Machine(
            origin=unpack_text(name),
            person=person,
            host=unpack_text(host),
            user=unpack_text(account),
            first_ns=first,
            last_ns=last,
            sessions=sessions,
        )
        for name, person, host, account, first, last, sessions in connection.execute(
            query, {"owner": scope.owner}
        )
    ]
    return sorted(found, key=lambda machine: (machine.host, machine.user, machine.origin))


def list_access(
    connection: Connection, scope: Scope, keys: Collection[str] | None = None
) -> list[SessionAccess]:
    """Return who may see sessions, by their keys."""
    where, values = "e.owner = :owner", {"owner": scope.owner}
    if keys is not None:
        where, values = f"{where} AND e.key IN @@texts(:keys)", {**values, "keys": list(keys)}  # type: ignore[dict-item]
    found = _list_sessions(connection, where, values)
    return [each.kept.describe(each.key, each.origin) for each in found]


def set_visibility(
    connection: Connection, scope: Scope, keys: Sequence[str], chosen: Visibility | None, affect: Affect
) -> list[SessionAccess]:
    """Say who sees sessions; return those of which that was not said before."""
    lock_feed(connection)
    rules = _load_rules(connection, scope.owner)
    own, values = list_own(scope)
    found = _list_sessions(connection, f"{own} AND e.key IN @@texts(:keys)", {**values, "keys": list(keys)})
    by_key = {each.key: each for each in found}
    done = []
    for key in dict.fromkeys(keys):
        session = by_key.get(key)
        if session is not None and session.kept.chosen is not chosen:
            now = rules.build_state(session.person, chosen, session.project)
            _write(connection, session, now, affect)
            if now.shared != session.kept.shared:
                _tell(connection, session, now)
            done.append(now.describe(session.key, session.origin))
    return done


def list_rules(connection: Connection, scope: Scope) -> list[ProjectRule]:
    """Return the rules, by pattern."""
    query = "SELECT pattern, visibility FROM rules WHERE owner = ? ORDER BY pattern"
    rows = connection.execute(query, (scope.owner,))
    return [ProjectRule(unpack_text(pattern), Visibility(visibility)) for pattern, visibility in rows]


def set_rule(
    connection: Connection, scope: Scope, pattern: str, visibility: Visibility | None, affect: Affect
) -> int:
    """Set or remove a rule; return how many sessions others see, or don't, by that."""
    lock_feed(connection)
    packed = pack_text(pattern)
    connection.execute("DELETE FROM rules WHERE owner = ? AND pattern = ?", (scope.owner, packed))
    if visibility is not None:
        connection.execute("INSERT INTO rules VALUES (?, ?, ?)", (scope.owner, packed, str(visibility)))
    count = 0
    for found, now in _list_differing(connection, scope, _load_rules(connection, scope.owner)):
        _write(connection, found, now, affect)
        if now.shared != found.kept.shared:
            _tell(connection, found, now)
            count += 1
    return count


def preview_rule(connection: Connection, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
    """Return what `set_rule` would."""
    others = [rule for rule in list_rules(connection, scope) if rule.pattern != pattern]
    rules = RuleMatcher([*others, *([] if visibility is None else [ProjectRule(pattern, visibility)])])
    differing = _list_differing(connection, scope, rules)
    return sum(now.shared != found.kept.shared for found, now in differing)


def _list_sessions(connection: Connection, where: str, values: Mapping[str, object]) -> list[_Session]:
    rows: Iterable[tuple[Any, ...]] = connection.execute(f"{_SESSIONS} WHERE {where} ORDER BY e.key", values)
    return [
        _Session(number, owner, key, unpack_text(origin), revision, unpack_text(project), person, _unpack(kept))
        for number, owner, key, origin, revision, project, person, *kept in rows
    ]


def _unpack(cells: Sequence[Any]) -> AccessState:
    person, chosen, rule, shared = cells
    return AccessState(person, None if chosen is None else Visibility(chosen), unpack_text(rule), bool(shared))


def _load_rules(connection: Connection, owner: str) -> RuleMatcher:
    return RuleMatcher(list_rules(connection, Scope(owner)))


def _list_differing(
    connection: Connection, scope: Scope, rules: RuleMatcher
) -> list[tuple[_Session, AccessState]]:
    sessions = _list_sessions(connection, "e.owner = :owner", {"owner": scope.owner})
    found = ((each, rules.build_state(each.person, each.kept.chosen, each.project)) for each in sessions)
    return [(each, now) for each, now in found if now != each.kept]


def _hand_over(connection: Connection, owner: str, origin: str, person: str | None, affect: Affect) -> None:
    """Give the sessions of a machine, and what is left of others, to its person."""
    rules, place = _load_rules(connection, owner), {"owner": owner, "origin": pack_text(origin)}
    for found in _list_sessions(connection, "e.owner = :owner AND e.origin = :origin", place):
        if found.person != found.kept.person:
            now = rules.build_state(found.person, found.kept.chosen, found.project)
            _write(connection, found, now, affect)
            _tell(connection, found, now)
    query = "UPDATE tombstones SET person = ? WHERE owner = ? AND origin = ?"
    connection.execute(query, (person, owner, pack_text(origin)))


def _write(connection: Connection, found: _Session, now: AccessState, affect: Affect) -> None:
    chosen = None if now.chosen is None else str(now.chosen)
    connection.execute(
        "UPDATE sessions SET person = ?, chosen = ?, rule = ?, is_shared = ? WHERE id = ?",
        (now.person, chosen, pack_text(now.rule), int(now.shared), found.id),
    )
    if (now.person, now.shared) != (found.kept.person, found.kept.shared):
        affect(found.id)


def _tell(connection: Connection, found: _Session, now: AccessState) -> None:
    """Make an entry in the feed, for those who could see a session before or can now."""
    add_change(
        connection,
        found.owner,
        ChangeKind.SESSION_ACCESS,
        found.key,
        found.revision,
        time.time_ns(),
        person=now.person,
        former=found.kept.person,
        is_shared=now.shared or found.kept.shared,
    )
