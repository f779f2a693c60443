"""The part of the store that knows whose sessions are whose, and who else may see them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace
from psycopg import Connection

from turnlog.errors import TakenMachineError
from turnlog.store.changes import NewChange
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import Cells, as_word, pack_text, unpack_text
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility
from turnlog.store.postgres.access import (
    AccessRow,
    Settled,
    list_access,
    list_rules,
    settle_access,
    write_access,
)
from turnlog.store.postgres.connection import Connected
from turnlog.store.postgres.feed import lock_feed
from turnlog.store.postgres.ledger import Ledger
from turnlog.store.postgres.seen import own_only

__all__ = ["People", "list_machines"]

_MACHINES = """
SELECT m.origin, m.person, m.host, m.account, m.first_ns, m.last_ns, coalesce(e.sessions, 0)
FROM machines AS m LEFT JOIN (
    SELECT origin, count(*) AS sessions FROM sessions WHERE owner = %(owner)s GROUP BY origin
) AS e ON e.origin = m.origin
WHERE m.owner = %(owner)s AND {} ORDER BY m.host, m.account, m.origin
"""
_NOTED = """
host = coalesce(nullif(%(host)s, ''::bytea), m.host),
account = coalesce(nullif(%(user)s, ''::bytea), m.account),
first_ns = least(m.first_ns, %(at)s), last_ns = greatest(m.last_ns, %(at)s)
"""
_NOTE_AGAIN = f"""
UPDATE machines AS m SET {_NOTED} WHERE m.owner = %(owner)s AND m.origin = %(origin)s
    AND (%(person)s::text IS NULL OR m.person = %(person)s)
"""
_NOTE = f"""
INSERT INTO machines AS m (owner, origin, person, host, account, first_ns, last_ns)
VALUES (%(owner)s, %(origin)s, %(person)s, %(host)s, %(user)s, %(at)s, %(at)s)
ON CONFLICT (owner, origin) DO UPDATE SET person = excluded.person, {_NOTED}
"""
_VISIBLE = """
SELECT convert_to(e.key, 'UTF8') FROM sessions AS e WHERE e.owner = %(owner)s AND e.key = ANY(%(keys)s)
UNION SELECT d.session_id FROM unnest(%(ids)s::bytea[]) AS w (id) CROSS JOIN LATERAL (
    SELECT d.session_id FROM hook_deliveries AS d
    WHERE d.owner = %(owner)s AND substring(d.session_id from 1 for 64) = substring(w.id from 1 for 64)
        AND d.session_id = w.id LIMIT 1
) AS d
"""
_OF_MACHINE = "e.origin = %(origin)s"


class People(Connected):
    """What `PostgresStore` does for people."""

    def note_machine(
        self, scope: Scope, origin: str, *, person: str | None, host: str, user: str, at_ns: int
    ) -> Machine:
        """Remember that something came from a machine, and whose it is."""
        values = {"host": pack_text(host), "user": pack_text(user), "person": person, "at": at_ns}
        self._write(_note_machine, scope, {"owner": scope.owner, "origin": pack_text(origin), **values})
        where, named = "m.origin = %(origin)s", {"origin": pack_text(origin)}
        return next(iter(self._ask(scope, list_machines, scope, where, named)))

    def list_machines(self, scope: Scope) -> list[Machine]:
        """Return machines by host, user and origin."""
        return self._ask(scope, list_machines, scope)

    def assign_machine(self, scope: Scope, origin: str, person: str | None) -> int:
        """Say whose a machine is, whatever was said before, and return how many sessions are affected."""
        return self._write(_assign, scope, pack_text(origin), person)

    def find_access(self, scope: Scope, key: str) -> SessionAccess | None:
        """Return who may see a session; None if it is not there."""
        values = {"key": as_word(key)}
        rows = self._ask(scope, list_access, scope.owner, "e.key = %(key)s", values)
        return next((row.access for row in rows), None)

    def list_visible(self, scope: Scope, names: Collection[str]) -> set[str]:
        """Return which of some sessions may be seen: by keys, or ids for those that only hooks told of."""
        keys = [name for name in names if as_word(name) is not None]
        values = {"owner": scope.owner, "keys": keys, "ids": list(map(pack_text, names))}
        return {unpack_text(name) for (name,) in self._ask(scope, _select, _VISIBLE, values)}

    def set_visibility(
        self, scope: Scope, keys: Sequence[str], chosen: Visibility | None
    ) -> list[SessionAccess]:
        """Say who sees sessions, and return those of which it was not so before."""
        return self._write(_choose, scope, keys, chosen)

    def list_rules(self, scope: Scope) -> list[ProjectRule]:
        """Return the rules for projects, by pattern."""
        return self._ask(scope, list_rules, scope.owner)

    def set_rule(self, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
        """Set or remove a rule, and return how many sessions others see, or don't, by that."""
        return self._write(_set_rule, scope, pattern, visibility)

    def weigh_rule(self, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
        """Return what `set_rule` would; nothing is changed."""
        return len(_list_shown(self._database.read(_weigh_rule, scope, pattern, visibility)))


def _select(connection: Connection, query: str, values: Mapping[str, object]) -> list[Cells]:
    return connection.execute(query, values).fetchall()


def list_machines(
    connection: Connection, scope: Scope, where: str = "true", values: dict[str, object] | None = None
) -> list[Machine]:
    """Return machines by host, user and origin; `where` is a condition on `m`, with its values."""
    rows = connection.execute(_MACHINES.format(where), {"owner": scope.owner, **(values or {})})
    return [
        Machine(
            origin=unpack_text(origin),
            person=person,
            host=unpack_text(host),
            user=unpack_text(user),
            first_ns=first_ns,
            last_ns=last_ns,
            sessions=sessions,
        )
        for origin, person, host, user, first_ns, last_ns, sessions in rows
    ]


def _note_machine(connection: Connection, scope: Scope, values: dict[str, object]) -> None:
    # As a rule nothing follows from it, and nobody has to wait.
    if connection.execute(_NOTE_AGAIN, values).rowcount:
        return
    lock_feed(connection)
    before = _find_person(connection, scope, values["origin"])
    person = values["person"]
    if person is not None and before is not None and before != person:
        raise TakenMachineError(f"The machine belongs to {before}; an admin can reassign it")
    connection.execute(_NOTE, values)
    if person is not None and before is None:
        _move(connection, scope, values["origin"])


def _assign(connection: Connection, scope: Scope, origin: bytes, person: str | None) -> int:
    lock_feed(connection)
    query = "UPDATE machines SET person = %s WHERE owner = %s AND origin = %s"
    if not connection.execute(query, (person, scope.owner, origin)).rowcount:
        raise KeyError(unpack_text(origin))
    return _move(connection, scope, origin)


def _find_person(connection: Connection, scope: Scope, origin: object) -> str | None:
    query = "SELECT person FROM machines WHERE owner = %s AND origin = %s"
    found = connection.execute(query, (scope.owner, origin)).fetchone()
    return None if found is None else found[0]


def _move(connection: Connection, scope: Scope, origin: object) -> int:
    """Give the sessions and tombstones of a machine to its person; return how many sessions were another's."""
    rows = list_access(connection, scope.owner, _OF_MACHINE, {"origin": origin})
    moved = settle_access(rows, list_rules(connection, scope.owner))
    query = """
    UPDATE tombstones AS t SET person = m.person FROM machines AS m
    WHERE m.owner = %(owner)s AND m.origin = %(origin)s AND t.owner = m.owner AND t.origin = m.origin
        AND t.person IS DISTINCT FROM m.person
    """
    connection.execute(query, {"owner": scope.owner, "origin": origin})
    told = [each for each in moved if each.row.state.person != each.after.person]
    _write(connection, scope, moved, told)
    return len(told)


def _choose(
    connection: Connection, scope: Scope, keys: Sequence[str], chosen: Visibility | None
) -> list[SessionAccess]:
    lock_feed(connection)
    names = own_only(connection, scope, keys)
    rows = list_access(connection, scope.owner, "e.key = ANY(%(keys)s)", {"keys": names})
    changed = [row for row in rows if row.state.chosen is not chosen]
    settled = {each.row.key: each for each in _settle(connection, scope, changed, chosen)}
    _write(connection, scope, list(settled.values()), _list_shown(settled.values()))
    found = (settled[name] for name in names if name in settled)
    return [each.after.describe(each.row.key, each.row.origin) for each in found]


def _settle(
    connection: Connection, scope: Scope, rows: Sequence[AccessRow], chosen: Visibility | None
) -> list[Settled]:
    wanted = [replace(row, state=replace(row.state, chosen=chosen)) for row in rows]
    after = {
        each.row.session: each.after for each in settle_access(wanted, list_rules(connection, scope.owner))
    }
    return [Settled(row, after.get(row.session, new.state)) for row, new in zip(rows, wanted, strict=True)]


def _set_rule(connection: Connection, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
    lock_feed(connection)
    settled = _weigh_rule(connection, scope, pattern, visibility)
    name = pack_text(pattern)
    connection.execute("DELETE FROM rules WHERE owner = %s AND pattern = %s", (scope.owner, name))
    if visibility is not None:
        cells = scope.owner, name, visibility is Visibility.TEAM
        connection.execute("INSERT INTO rules VALUES (%s, %s, %s)", cells)
    shown = _list_shown(settled)
    _write(connection, scope, settled, shown)
    return len(shown)


def _weigh_rule(
    connection: Connection, scope: Scope, pattern: str, visibility: Visibility | None
) -> list[Settled]:
    """Return the sessions for which something else follows if a rule is there, or is not."""
    rules = [rule for rule in list_rules(connection, scope.owner) if rule.pattern != pattern]
    if visibility is not None:
        rules.append(ProjectRule(pattern, visibility))
    return settle_access(list_access(connection, scope.owner, "true", {}), rules)


def _list_shown(settled: Iterable[Settled]) -> list[Settled]:
    """Return those that others see from now on, or no longer."""
    return [each for each in settled if each.row.state.shared != each.after.shared]


def _write(connection: Connection, scope: Scope, settled: Sequence[Settled], told: Sequence[Settled]) -> None:
    """Write what follows for sessions, count usage anew, and tell of some."""
    ledger = Ledger()
    ledger.note_moved(write_access(connection, settled))
    at_ns = time.time_ns()
    for each in told:
        before, after = each.row.state, each.after
        ledger.add_change(
            NewChange(
                scope.owner,
                ChangeKind.SESSION_ACCESS,
                each.row.key,
                each.row.revision,
                at_ns,
                person=after.person,
                former=before.person,
                shared=before.shared or after.shared,
            )
        )
    ledger.close(connection)
