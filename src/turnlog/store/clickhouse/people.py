"""The part of the store that knows whose sessions are whose, and who else may see them.

Machines and rules are in the control database. A rule or a machine may concern any number of sessions: what
follows for them is written some thousands at a time (`access`). Until that is done, a mark in the control
database says so, and whoever opens the store or changes something of the kind goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from turnlog.errors import BusyStoreError
from turnlog.store.clickhouse.access import (
    Audience,
    Settled,
    find_state,
    list_groups,
    list_members,
    list_own,
    list_rules,
    read_audience,
    write_access,
)
from turnlog.store.clickhouse.connection import spell_text
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.machine_writes import write_of_machines
from turnlog.store.clickhouse.machines import Noted, build_machine, give_machine, note_again, note_machine
from turnlog.store.clickhouse.reading import ACCESS
from turnlog.store.clickhouse.transaction import Connected, Write
from turnlog.store.identity import Scope
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility
from turnlog.store.portable.database import Execute

__all__ = ["People"]

_MACHINES = "SELECT origin, person, host, account, first_ns, last_ns FROM @machines WHERE owner = ?"
_COUNT = "SELECT origin, count() FROM summaries FINAL WHERE {} GROUP BY origin"
_VISIBLE_KEYS = "SELECT key FROM sessions FINAL WHERE owner = {owner:String} AND id IN {ids:Array(UInt128)}"
_VISIBLE_IDS = """
SELECT DISTINCT session_id FROM deliveries FINAL
WHERE owner = {owner:String} AND session_id IN {names:Array(String)}
"""
_UNSETTLED = "unsettled-access:"
"""The fact that says of an owner that what follows from machines and rules is not all written yet."""

_Change = Callable[[Write, Audience], Audience]
"""Has something changed with a write, and returns what access follows from then."""


class People(Connected):
    """What `ClickHouseStore` does for people."""

    def note_machine(
        self, scope: Scope, origin: str, *, person: str | None, host: str, user: str, at_ns: int
    ) -> Machine:
        """Remember that something came from a machine, and whose it is."""
        named = pack_text(origin)
        noted = Noted(scope.owner, named, person, pack_text(host), pack_text(user), at_ns)
        # As a rule nothing follows from it, and nobody has to wait.
        if not self._control.write(lambda execute: note_again(execute, noted), is_repeatable=True):
            self._settle_access(
                scope.owner,
                f"origin = {spell_text(named)}",
                lambda write, audience: note_machine(write, audience, noted),
            )
        return self._list_machines(scope, named)[0]

    def list_machines(self, scope: Scope) -> list[Machine]:
        """Return machines by host, user and origin."""
        return self._list_machines(scope)

    def assign_machine(self, scope: Scope, origin: str, person: str | None) -> int:
        """Say whose a machine is, whatever was said before, and return how many sessions are affected."""
        named = pack_text(origin)

        def assign(write: Write, audience: Audience) -> Audience:
            if named not in audience.persons:
                raise KeyError(origin)
            write.also(
                lambda execute: execute(
                    "UPDATE @machines SET person = ? WHERE owner = ? AND origin = ?",
                    (person, scope.owner, named),
                )
            )
            return give_machine(write, audience, scope.owner, named, person)

        return self._settle_access(scope.owner, f"origin = {spell_text(named)}", assign)

    def find_access(self, scope: Scope, key: str) -> SessionAccess | None:
        """Return who may see a session; None if it is not there."""
        session = self._reading(scope).find([key], ACCESS).get(key)
        return None if session is None else find_state(session).describe(key, unpack_text(session.origin))

    def list_visible(self, scope: Scope, names: Collection[str]) -> set[str]:
        """Return which of some sessions may be seen: by keys, or ids for those that only hooks told of."""
        if not names:
            return set()
        reading = self._reading(scope)
        keys = reading.query(_VISIBLE_KEYS, {"ids": [number(scope.owner, name) for name in names]})
        ids = reading.query(_VISIBLE_IDS, {"names": list(map(pack_text, names))})
        return {unpack_text(name) for (name,) in (*keys, *ids)}

    def set_visibility(
        self, scope: Scope, keys: Sequence[str], chosen: Visibility | None
    ) -> list[SessionAccess]:
        """Say who sees sessions, and return those of which it was not so before."""
        reading = self._reading(scope)
        origins = {unpack_text(each.origin) for each in list_own(reading, keys, ACCESS).values()}
        if not origins:
            return []
        with write_of_machines(self, scope.owner, origins) as write:
            audience = read_audience(self._control, scope.owner)
            shared = None if chosen is None else chosen is Visibility.TEAM
            settled, told = [], []
            for key, session in list_own(reading, keys, (*ACCESS, "project")).items():
                before = find_state(session)
                if before.chosen is not chosen:
                    after = audience.build_state(session.origin, session.project, shared)
                    settled.append(Settled(session.id, key, session.revision, before, after))
                    told.append(after.describe(key, unpack_text(session.origin)))
            write_access(self._engine, write, scope.owner, settled)
        return told

    def list_rules(self, scope: Scope) -> list[ProjectRule]:
        """Return the rules for projects, by pattern."""
        return self._control.read(lambda execute: list_rules(execute, scope.owner))

    def set_rule(self, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
        """Set or remove a rule, and return how many sessions others see, or don't, by that."""

        def set_rule(write: Write, audience: Audience) -> Audience:
            write.also(lambda execute: _write_rule(execute, scope.owner, pattern, visibility))
            return _with_rule(audience, pattern, visibility)

        return self._settle_access(scope.owner, "true", set_rule)

    def weigh_rule(self, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
        """Return what `set_rule` would; nothing is changed."""
        audience = _with_rule(read_audience(self._control, scope.owner), pattern, visibility)
        groups = list_groups(self._engine, scope.owner, audience)
        return sum(group.sessions for group in groups if group.before.shared != group.after.shared)

    def _recover_all(self) -> None:
        """Finish or undo what others left who died, and what access follows for sessions."""
        super()._recover_all()
        names = self._control.read(
            lambda execute: execute("SELECT name FROM @facts WHERE name LIKE ?", (f"{_UNSETTLED}%",))
        )
        for (name,) in names:
            with suppress(BusyStoreError):  # others are at it
                self._settle_access(name.removeprefix(_UNSETTLED), "true", None)

    def _settle_access(self, owner: str, where: str, change: _Change | None) -> int:
        """Change something, and write what follows for sessions; return how many are affected.

        `where` is a condition for those that are concerned. The first write makes the change.
        """
        fact, told = f"{_UNSETTLED}{owner}", 0
        is_left = self._has_fact(fact)
        if is_left:
            where = "true"  # somebody else did not come to its end
        while True:
            with self._writing(owner, None) as write:
                audience = read_audience(self._control, owner)
                if change is not None:
                    audience, change = change(write, audience), None
                groups = list_groups(self._engine, owner, audience, where)
                settled = list_members(self._engine, owner, groups)
                write_access(self._engine, write, owner, settled)
                was_left, is_left = is_left, len(settled) < sum(group.sessions for group in groups)
                if was_left != is_left:
                    write.also(_write_fact(fact, is_there=is_left))
            told += sum(each.is_told for each in settled)
            if not is_left:
                return told

    def _has_fact(self, name: str) -> bool:
        return bool(self._control.read(lambda execute: execute("SELECT 1 FROM @facts WHERE name = ?", (name,))))

    def _list_machines(self, scope: Scope, origin: bytes | None = None) -> list[Machine]:
        """Return machines, or one of them, with the sessions that may be seen."""
        where = "true" if origin is None else "origin = {origin:String}"
        counted = self._reading(scope).query(_COUNT.format(where), {} if origin is None else {"origin": origin})
        sessions: dict[bytes, int] = dict(counted)
        rows = self._control.read(lambda execute: execute(_MACHINES, (scope.owner,)))
        found = [
            build_machine(row, sessions.get(bytes(row[0]), 0))
            for row in rows
            if origin is None or bytes(row[0]) == origin
        ]
        if scope.viewer is not None:
            own = scope.viewer.person
            found = [each for each in found if each.sessions or (own is not None and each.person == own)]
        return sorted(found, key=lambda each: tuple(map(pack_text, (each.host, each.user, each.origin))))


def _with_rule(audience: Audience, pattern: str, visibility: Visibility | None) -> Audience:
    """Return what access follows from if a rule is there, or is not."""
    rules = [rule for rule in audience.rules if rule.pattern != pattern]
    if visibility is not None:
        rules.append(ProjectRule(pattern, visibility))
    return Audience(rules, audience.persons)


def _write_rule(execute: Execute, owner: str, pattern: str, visibility: Visibility | None) -> None:
    named = pack_text(pattern)
    execute("DELETE FROM @rules WHERE owner = ? AND pattern = ?", (owner, named))
    if visibility is not None:
        shared = int(visibility is Visibility.TEAM)
        execute("INSERT INTO @rules (owner, pattern, shared) VALUES (?, ?, ?)", (owner, named, shared))


def _write_fact(name: str, *, is_there: bool) -> Callable[[Execute], object]:
    def work(execute: Execute) -> None:
        execute("DELETE FROM @facts WHERE name = ?", (name,))
        if is_there:
            execute("INSERT INTO @facts (name, value) VALUES (?, ?)", (name, b""))

    return work
