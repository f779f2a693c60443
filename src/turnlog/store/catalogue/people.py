"""Whose sessions are whose, who else sees them, and what people say about them.

Whatever changes any of it brings the sessions up to date in the same transaction, under the feed's lock, and
tells in the feed where others see a session from now on, or no longer. Each change of marks is an entry with
all that it led to; the newest counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, json

from turnlog.errors import TakenMachineError
from turnlog.store.catalogue.database import MOST, Connection, pack_text, unpack_text
from turnlog.store.catalogue.feed import add_change, lock_feed
from turnlog.store.interface import ChangeKind
from turnlog.store.lists import MarkChange, MarkedSession, Marks, undo_change
from turnlog.store.model import Machine, ProjectRule, Scope, SessionAccess, Visibility

_ANYTHING = "*"


class AccessState(Struct, frozen=True, gc=False):
    """Who may see a session, as a store keeps it."""

    person: str | None = None
    chosen: Visibility | None = None
    rule: str | None = None
    """The pattern of the rule that fits, whether or not it counts."""
    shared: bool = False

    def describe(self, key: str, origin: str) -> SessionAccess:
        """Return it as it is told of a session."""
        return SessionAccess(
            key=key,
            origin=origin,
            person=self.person,
            chosen=self.chosen,
            rule=self.rule,
            visibility=Visibility.TEAM if self.shared else Visibility.PRIVATE,
        )


def fits_pattern(pattern: str, project: str) -> bool:
    """Tell whether a project's path is one that a pattern means.

    `*` stands for any text. A pattern without a `/` may also be the name of the folder alone.
    """
    if _matches(pattern, project):
        return True
    if "/" in pattern:
        return False
    return _matches(pattern, project.replace("\\", "/").rstrip("/").rpartition("/")[2])


def decide(chosen: Visibility | None, rule: ProjectRule | None) -> Visibility:
    """Return who sees a session: as its person chose, else as the rule says, else nobody else."""
    if chosen is not None:
        return chosen
    return Visibility.PRIVATE if rule is None else rule.visibility


class RuleMatcher:
    """Some rules, asked for many projects."""

    def __init__(self, rules: Iterable[ProjectRule]) -> None:
        self._rules = sorted(rules, key=lambda rule: (-len(rule.pattern), rule.pattern))
        self._found: dict[str, ProjectRule | None] = {}

    def find(self, project: str | None) -> ProjectRule | None:
        """Return the rule that counts for a project: the longest that fits, of those the first by its text."""
        if project is None:
            return None
        if project not in self._found:
            self._found[project] = next(
                (rule for rule in self._rules if fits_pattern(rule.pattern, project)), None
            )
        return self._found[project]

    def build_state(self, person: str | None, chosen: Visibility | None, project: str | None) -> AccessState:
        """Return who may see a session of a person and a project."""
        rule = self.find(project)
        shared = decide(chosen, rule) is Visibility.TEAM
        return AccessState(person, chosen, None if rule is None else rule.pattern, shared)


def _matches(pattern: str, text: str) -> bool:
    """Compare part by part: an expression with many stars could take forever."""
    first, *middle = pattern.split(_ANYTHING)
    if not middle:
        return pattern == text
    last = middle.pop()
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return at <= end and text.endswith(last)


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


def refresh_access(connection: Connection, sessions: Sequence[int], affect: Affect) -> None:
    """Bring up to date who may see sessions, behind batches of them; the batches' own entries tell of it."""
    rules: dict[str, RuleMatcher] = {}
    for found in _list_sessions(connection, "e.id IN @@ints(:ids)", {"ids": [*sessions]}):
        if found.owner not in rules:
            rules[found.owner] = _load_rules(connection, found.owner)
        now = rules[found.owner].build_state(found.person, found.kept.chosen, found.project)
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


MARK_COLUMNS = ("name", "tags", "is_starred", "note", "is_archived")
"""What `unpack_marks` takes."""
_COLUMNS = ", ".join(MARK_COLUMNS)
_INSERT = f"""
INSERT INTO marks (owner, session, operation, undoes, at_ns, author, name_key, {_COLUMNS})
VALUES ({", ".join("?" * (7 + len(MARK_COLUMNS)))}) RETURNING id
"""
_decode_tags = json.Decoder(tuple[str, ...]).decode


def unpack_marks(cells: Sequence[Any]) -> Marks:
    """Return the marks of an entry; of a session without any, those cells are all empty."""
    name, tags, starred, note, archived = cells
    if tags is None:
        return Marks()
    return Marks(
        name=unpack_text(name),
        tags=_decode_tags(tags),
        starred=bool(starred),
        note=unpack_text(note),
        archived=bool(archived),
    )


def mark_sessions(
    connection: Connection, scope: Scope, keys: Iterable[str], change: MarkChange
) -> list[MarkedSession]:
    """Change the marks of sessions, in the transaction of the caller; return those that differ by that."""
    lock_feed(connection)
    writer = _Writer(connection, scope, None)
    own, values = list_own(scope)
    done = []
    for key in keys:
        query = f"SELECT e.id, e.revision FROM sessions AS e WHERE {own} AND e.key IN @@texts(:keys)"
        for session, revision in connection.execute(query, {**values, "keys": [key]}):
            before = _find_newest(connection, session)
            done += writer.write(session, key, revision, before, change.apply(before))
    return done


def undo_marks(connection: Connection, scope: Scope) -> list[MarkedSession]:
    """Take back the newest of one's own operations that still stands; return the sessions that it was about."""
    lock_feed(connection)
    own, values = list_own(scope)
    query = f"""
    SELECT max(m.operation) FROM marks AS m JOIN sessions AS e ON e.id = m.session
    WHERE m.owner = :owner AND coalesce(m.author, '') = :author AND m.undoes IS NULL AND {own}
    AND m.operation NOT IN (SELECT undoes FROM marks WHERE owner = m.owner AND undoes IS NOT NULL)
    """
    [(operation,)] = connection.execute(query, {**values, "author": _name_author(scope) or ""})
    if operation is None:
        return []
    entries = connection.execute(
        "SELECT m.id, m.session, e.key, e.revision FROM marks AS m JOIN sessions AS e ON e.id = m.session "
        f"WHERE m.owner = :owner AND m.operation = :operation AND {own} ORDER BY m.id",
        {**values, "operation": operation},
    )
    writer = _Writer(connection, scope, operation)
    done = []
    for entry, session, key, revision in entries:
        now = _find_newest(connection, session)
        before, after = (_find_newest(connection, session, each) for each in (entry, entry + 1))
        done += writer.write(session, key, revision, now, undo_change(before, after, now))
    return done


class _Writer:
    """Writes the entries of one operation."""

    def __init__(self, connection: Connection, scope: Scope, undoes: int | None) -> None:
        self._connection = connection
        self._owner = scope.owner
        self._author = _name_author(scope)
        self._undoes = undoes
        self._at_ns = time.time_ns()
        query = "SELECT coalesce(max(operation), 0) + 1 FROM marks WHERE owner = ?"
        [(self._operation,)] = connection.execute(query, (scope.owner,))

    def write(self, session: int, key: str, revision: int, before: Marks, after: Marks) -> list[MarkedSession]:
        """Add an entry, and one in the feed; none for what stays the same, unless it is taken back."""
        if before == after and self._undoes is None:
            return []
        entry = (
            pack_text(after.name),
            json.encode(after.tags),
            int(after.starred),
            pack_text(after.note),
            int(after.archived),
        )
        name_key = None if after.name is None else pack_text(after.name.casefold())
        head = (self._owner, session, self._operation, self._undoes, self._at_ns, self._author, name_key)
        [(number,)] = self._connection.execute(_INSERT, (*head, *entry))
        query = "UPDATE sessions SET mark = ?, is_archived = ? WHERE id = ?"
        self._connection.execute(query, (number, int(after.archived), session))
        add_change(self._connection, self._owner, ChangeKind.SESSION_MARKED, key, revision, self._at_ns)
        return [MarkedSession(key=key, before=before, after=after)]


def _name_author(scope: Scope) -> str | None:
    return None if scope.viewer is None else scope.viewer.person


def _find_newest(connection: Connection, session: int, before: int = MOST) -> Marks:
    """Return the marks by the newest entry of a session, or the newest before another one."""
    query = f"SELECT {_COLUMNS} FROM marks WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1"
    rows = connection.execute(query, (session, before))
    return unpack_marks(rows[0]) if rows else Marks()
