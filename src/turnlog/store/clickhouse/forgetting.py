"""Forgetting: a session is deleted for good, and a tombstone keeps it from coming back.

Its rows, its bytes and what its hooks told are deleted by one write, and with it the marks of it in the control
database. Then all files are rid of what was in them (`scrub`): those of the engine, and those of the control
database, which had what was published. Until the words are purged that only it had, the control database
remembers in which months that is to be done.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import date
from functools import partial
from itertools import islice

from msgspec import Struct, msgpack
from msgspec.structs import replace

from turnlog.store.care import Forgotten, Tombstone
from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.access import list_own
from turnlog.store.clickhouse.blob_upkeep import scrub_blobs
from turnlog.store.clickhouse.connection import spell_text
from turnlog.store.clickhouse.publication import Staged, pack_ids
from turnlog.store.clickhouse.record import Session
from turnlog.store.clickhouse.scrubbing import scrub_tables
from turnlog.store.clickhouse.texts import forget_delivery_texts
from turnlog.store.clickhouse.tombstones import bury, lift_tombstones, list_tombstones
from turnlog.store.clickhouse.transaction import Connected, Write
from turnlog.store.clickhouse.words import purge_words
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import unpack_text
from turnlog.store.portable.database import Execute

__all__ = ["Forgetting"]

_AT_ONCE = 10_000
"""How many deliveries a condition names at most."""
_WEIGH = """
SELECT uniqExact(source), sum(length) FROM generations FINAL WHERE session IN {sessions:Array(UInt128)}
"""
_SAME_IDS = """
SELECT id, session_id, told_id, person FROM sessions FINAL
WHERE owner = {owner:String} AND (session_id IN {ids:Array(String)} OR told_id IN {ids:Array(String)})
"""
_ANSWERS = "SELECT DISTINCT answer FROM rows WHERE session IN {sessions:Array(UInt128)} AND kind = 6"
_WORDS = "words to purge"


class _Told(Struct, frozen=True):
    """A delivery that goes with a session."""

    digest: int
    number: int
    born: date


class _Found(Struct, frozen=True):
    """A session that is there, with what goes with it."""

    key: str
    session: Session
    own_ids: dict[bytes, bool]
    """Its ids that no other session of its person has; each with whether nobody's has it."""
    told: list[_Told]

    @property
    def staged(self) -> Staged:
        return Staged(self.session.id, self.session.born)


class Forgetting(Connected):
    """What `ClickHouseStore` does to forget."""

    def forget(self, scope: Scope, keys: Sequence[str]) -> Forgotten:
        """Delete sessions for good, and leave tombstones."""
        with self._writing(scope.owner, None) as write:
            found = self._find_all(scope, keys)
            weight = self._weigh(found)
            if found:
                self._forget(write, scope, found)
        return replace(weight, scrubbed=self.scrub()) if found else weight

    def weigh(self, scope: Scope, keys: Sequence[str]) -> Forgotten:
        """Return what `forget` would delete."""
        return self._weigh(self._find_all(scope, keys))

    def lift(self, scope: Scope, keys: Sequence[str]) -> int:
        """Take tombstones away, and return how many."""
        self._engine.check_writable()
        return self._control.write(lambda execute: lift_tombstones(execute, scope, keys))

    def list_tombstones(self, scope: Scope) -> list[Tombstone]:
        """Return what was forgotten, by time."""
        return list_tombstones(self._control, scope)

    def bury(self, scope: Scope, tombstones: Sequence[Tombstone]) -> None:
        """Add tombstones that another copy of this store has."""
        self._control.write(lambda execute: bury(execute, scope.owner, tombstones), is_repeatable=True)

    def scrub(self) -> bool:
        """Remove from all files what was deleted before; return False if they are in use just now."""
        self._engine.check_writable()
        self._purge_words()
        done = [scrub_blobs(self, time.time_ns()), scrub_tables(self._engine), self._control.scrub()]
        return all(done)

    def _find_all(self, scope: Scope, keys: Sequence[str]) -> list[_Found]:
        own = list_own(self._reading(scope), keys)
        if not own:
            return []
        ids = {id for session in own.values() for id in _list_ids(session.session_id, session.told_id)}
        same = self._engine.query(_SAME_IDS, {"owner": scope.owner, "ids": sorted(ids)})
        found = []
        for key, session in own.items():
            own_ids: dict[bytes, bool] = {}
            for id in _list_ids(session.session_id, session.told_id):
                others = {
                    person for other, *names, person in same if other != session.id and id in _list_ids(*names)
                }
                if session.person not in others:
                    own_ids[id] = not others
            found.append(_Found(key, session, own_ids, self._list_told(scope, session, own_ids)))
        return found

    def _list_told(self, scope: Scope, session: Session, ids: dict[bytes, bool]) -> list[_Told]:
        """Return what hooks told of a session on machines of its person, or here, if only it has the id."""
        whose = "person IS NULL" if session.person is None else f"person = {spell_text(session.person)}"
        told: dict[int, _Told] = {}
        for id, is_only in ids.items():
            where = f"owner = {{owner:String}} AND session_id = {{id:String}} AND ({whose}"
            where += " OR origin = '')" if is_only else ")"
            query = f"SELECT digest, number, born FROM deliveries FINAL WHERE {where}"
            rows = self._engine.query(query, {"owner": scope.owner, "id": id})
            told |= {digest: _Told(digest, number, born) for digest, number, born in rows}
        return list(told.values())

    def _weigh(self, found: Sequence[_Found]) -> Forgotten:
        if not found:
            return Forgotten(sessions=0, files=0, bytes=0, deliveries=0)
        [(files, size)] = self._engine.query(_WEIGH, {"sessions": [each.session.id for each in found]})
        deliveries = len({told.digest for each in found for told in each.told})
        return Forgotten(sessions=len(found), files=files, bytes=size, deliveries=deliveries)

    def _forget(self, write: Write, scope: Scope, found: Sequence[_Found]) -> None:
        at_ns = time.time_ns()
        numbers = [each.session.id for each in found]
        write.forget(each.staged for each in found)
        write.note_stale(answer for (answer,) in self._engine.query(_ANSWERS, {"sessions": numbers}))
        told = {told.digest: told for each in found for told in each.told}
        _forget_told(write, scope, list(told.values()))
        tombstones = [_make_tombstone(each, at_ns) for each in found]
        born = [*(each.session.born for each in found), *(each.born for each in told.values())]

        def note(execute: Execute) -> None:
            bury(execute, scope.owner, tombstones)
            _note_words(execute, {each.year * 100 + each.month for each in born})
            for each, packed in zip(found, _pack_each(numbers), strict=True):
                execute("DELETE FROM @marks WHERE owner = ? AND session = ?", (scope.owner, each.key))
                execute("DELETE FROM @usage_versions WHERE session = ?", (packed,))

        write.also(note)
        for each in found:
            session = each.session
            told_as = scope.owner, ChangeKind.SESSION_FORGOTTEN, each.key, session.revision + 1, at_ns
            write.note_change(NewChange(*told_as, person=unpack_text(session.person), shared=session.shared))

    def _purge_words(self) -> None:
        """Purge words that only what was forgotten had, where that was not done yet."""
        for (packed,) in self._control.read(_read_words):
            months = msgpack.decode(bytes(packed), type=list[int])
            purge_words(self._engine, self._control, months)
            self._control.write(partial(_note_purged, packed=packed))


def _pack_each(numbers: Iterable[int]) -> list[bytes]:
    """Return numbers of sessions as the control database has them, in their order."""
    return [packed for each in numbers for packed in pack_ids([each])]


def _list_ids(session_id: bytes, told_id: bytes | None) -> set[bytes]:
    return {session_id} if told_id is None else {session_id, told_id}


def _make_tombstone(found: _Found, at_ns: int) -> Tombstone:
    session = found.session
    told = unpack_text(session.session_id) if session.session_id in found.own_ids else None
    return Tombstone(found.key, told, at_ns, unpack_text(session.person), unpack_text(session.origin))


def _forget_told(write: Write, scope: Scope, told: Sequence[_Told]) -> None:
    """Have deliveries deleted, and what is searched of them."""
    left = iter(told)
    while some := list(islice(left, _AT_ONCE)):
        digests = ", ".join(f"toUInt128('{each.digest}')" for each in some)
        where = f"owner = {spell_text(scope.owner)} AND digest IN ({digests})"
        write.publication.deletes += [("deliveries", where), ("delivery_numbers", where)]
    forget_delivery_texts(write, [each.number for each in told])


def _read_words(execute: Execute) -> list[tuple[bytes]]:
    return [(bytes(value),) for (value,) in execute("SELECT value FROM @facts WHERE name = ?", (_WORDS,))]


def _note_purged(execute: Execute, packed: bytes) -> None:
    execute("DELETE FROM @facts WHERE name = ? AND value = ?", (_WORDS, packed))


def _note_words(execute: Execute, months: set[int]) -> None:
    for (packed,) in _read_words(execute):
        months = months | set(msgpack.decode(packed, type=list[int]))
    execute("DELETE FROM @facts WHERE name = ?", (_WORDS,))
    execute("INSERT INTO @facts (name, value) VALUES (?, ?)", (_WORDS, msgpack.encode(sorted(months))))
