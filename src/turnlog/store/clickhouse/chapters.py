"""Derived rows of a session or a chapter, as they are in the revision that is shown.

There may be several rows with one index: the newest counts that is not newer than the session's row says. What
is looked for in a row must not be asked of older ones, so a statement finds out which rows may be meant, takes
the newest of each, and asks these again (`rows_like`).

A session's number follows from its key, so one statement does: it looks up the revision by itself, as `shown`,
which is there only for those who may see the session. Without it no row is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.clickhouse.connection import Values
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.kinds import MESSAGES, Kind
from turnlog.store.clickhouse.reading import OF_SESSIONS, list_filters
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.packing import Cells, pack_text, unpack_row, unpack_text
from turnlog.store.rows import DerivedRow

__all__ = [
    "CHAPTER",
    "FILES",
    "SESSION",
    "SHORTLY",
    "ChapterQueries",
    "File",
    "Look",
    "build_conditions",
    "last_rows",
    "rows_like",
    "rows_of",
    "unpack_rows",
]

R = TypeVar("R", bound=DerivedRow)

_SHOWN = """
WITH (SELECT revision FROM sessions FINAL WHERE owner = {owner:String} AND id = {session:UInt128}) AS shown
"""
_KNOWN = "WITH {revision:UInt64} AS shown "
SESSION = "session = {session:UInt128} AND shown IS NOT NULL"
"""Which rows of a table are those of the session, for whoever may see it."""
CHAPTER = "source = {chapter:UInt128}"
"""Which rows of a session are those of a chapter."""
FILES = f"SELECT source, name, kind, agent_id, generation FROM sources FINAL WHERE {SESSION}"
_LOOK = (
    f"SELECT assumeNotNull(shown), source, name, kind, agent_id, generation FROM sources FINAL WHERE {SESSION}"
)
SHORTLY = " SETTINGS max_threads = 1"
"""Behind a statement about one session: to set up more threads takes longer than to read with one."""
_LAST = 64
"""How many rows at the end are looked at to find one that is not gone, before all are."""
_NO_VALUES: Mapping[str, Any] = MappingProxyType({})
_BOUND = {bool: "Bool", int: "Int64", str: "String"}


class File(Struct, frozen=True, gc=False):
    """A file of a session."""

    number: int
    name: str
    kind: str
    agent_id: bytes | None
    generation: int
    """The newest."""

    @property
    def rank(self) -> tuple[bool, str]:
        """What files are ordered by: transcripts come first."""
        return (self.kind != SourceKind.TRANSCRIPT, self.name)


def rows_of(kind: Kind[Any], columns: str, where: str | None = CHAPTER) -> str:
    """Return the query for rows of a kind as they are shown; conditions on `columns` may be added.

    `where` is about `source` and `idx` alone; with None, rows are those of all chapters.
    """
    place = "idx" if where is not None and where.startswith(CHAPTER) else "source, idx"
    order = ", ".join(f"{each} DESC" for each in (*place.split(", "), "revision", "write"))
    return f"""
    SELECT {columns} FROM (
        SELECT {columns}, gone FROM rows
        WHERE {SESSION} AND kind = {kind.number} AND revision <= shown AND {where or "true"}
        ORDER BY {order} LIMIT 1 BY {place}
    ) WHERE NOT gone"""


def rows_like(kind: Kind[Any], columns: str, like: str, where: str | None = CHAPTER) -> str:
    """Return the query for rows of a kind with a condition on `columns`: others are not looked at closely."""
    place = "idx" if where is not None and where.startswith(CHAPTER) else "source, idx"
    found = f"""
    ({place}) IN (
        SELECT {place} FROM rows
        WHERE {SESSION} AND kind = {kind.number} AND revision <= shown AND {where or "true"} AND ({like})
    )"""
    return f"{rows_of(kind, columns, f'{where} AND {found}' if where else found)} AND ({like})"


def last_rows(kind: Kind[Any], count: int) -> str:
    """Return the query for the last indexes of a chapter, and whether there is no such row any more."""
    return f"""
    SELECT idx, gone FROM rows WHERE {SESSION} AND kind = {kind.number} AND revision <= shown AND {CHAPTER}
    ORDER BY idx DESC, revision DESC, write DESC LIMIT 1 BY idx LIMIT {count}"""


def unpack_rows(kind: Kind[R], rows: Iterable[bytes]) -> list[R]:
    """Return rows of one chapter, in order."""
    return sorted((unpack_row(kind.type, row) for row in rows), key=lambda row: row.index)


def build_conditions(wanted: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return conditions for columns, and their values: one of several words, or the very value."""
    clauses: list[str] = []
    values: dict[str, Any] = {}
    for column, value in wanted.items():
        if value is None:
            continue
        name = f"is_{column}"
        if isinstance(value, tuple):
            clauses.append(f"{column} IN {{{name}:Array(String)}}")
            values[name] = [pack_text(each) for each in value]
        else:
            clauses.append(f"{column} = {{{name}:{_BOUND[type(value)]}}}")
            values[name] = pack_text(value) if isinstance(value, str) else value
    return " AND ".join(clauses), values


class Look(Struct, frozen=True, gc=False):
    """A session as it is shown: whoever asks several things about it asks them of one revision."""

    revision: int
    files: tuple[File, ...] = ()
    """The transcripts first, each sort by name."""
    main: int | None = None
    """The number of the transcript that is read."""


class ChapterQueries(Connected):
    """Asks for rows of one session, or of one chapter of it."""

    def _select(
        self, scope: Scope, key: str, query: str, values: Values = _NO_VALUES, look: Look | None = None
    ) -> list[Cells]:
        """Return what a query gives about a session; without `look`, its revision is looked up.

        `shown`, `{owner:String}` and `{session:UInt128}` are given. What hooks told is seen as far as the scope
        may see it, whatever the session.
        """
        reading = self._reading(scope)
        session = number(scope.owner, key)
        only = f"session = toUInt128('{session}')"
        filters = {**list_filters(scope, reading.retention_days), **dict.fromkeys(OF_SESSIONS, only)}
        given = {"owner": pack_text(scope.owner), "session": session, **values}
        if look is not None:
            given["revision"] = look.revision
        statement = f"{_SHOWN if look is None else _KNOWN}{query}{SHORTLY}"
        # The engine would read the conditions of all tables each time.
        needed = {table: seen for table, seen in filters.items() if table in statement}
        return self._engine.query(statement, given, needed)

    def _select_chapter(
        self, scope: Scope, key: str, source: str | None, query: str, values: Values = _NO_VALUES
    ) -> list[Cells]:
        """Return what a query gives that names a chapter as `{chapter:UInt128}`: the transcript, or `source`.

        A transcript is mostly named as the session is. Where it is another one, that one has nothing.
        """
        if source is not None:
            return self._select(scope, key, query, {**values, "chapter": number(scope.owner, source)})
        usual = number(scope.owner, key)
        rows = self._select(scope, key, query, {**values, "chapter": usual})
        look = None if rows else self._look(scope, key)
        if look is None or look.main in (None, usual):
            return rows
        return self._select(scope, key, query, {**values, "chapter": look.main}, look)

    def _count(self, scope: Scope, key: str, kind: Kind[Any], chapter: int, look: Look | None = None) -> int:
        """Return how many rows a chapter has; they are counted from 0 without gaps."""
        values = {"chapter": chapter}
        last = self._select(scope, key, last_rows(kind, _LAST), values, look)
        if len(last) == _LAST and all(gone for _, gone in last):
            [(count,)] = self._select(scope, key, f"SELECT count() FROM ({rows_of(kind, 'idx')})", values, look)
            return int(count)
        return next((int(index) + 1 for index, gone in last if not gone), 0)

    def _look(self, scope: Scope, key: str) -> Look | None:
        """Return a session as it is now; None if it is not there, or may not be seen."""
        rows = self._select(scope, key, _LOOK)
        if not rows:
            return None
        files = [File(each, unpack_text(name), unpack_text(kind), *rest) for _, each, name, kind, *rest in rows]
        files.sort(key=lambda file: file.rank)
        look = Look(rows[0][0], tuple(files))
        return replace(look, main=self._choose_main(scope, key, look))

    def _choose_main(self, scope: Scope, key: str, look: Look) -> int | None:
        """Return the transcript that has messages, else the first."""
        found = [each for each in look.files if each.kind == SourceKind.TRANSCRIPT]
        numbers = [each.number for each in sorted(found, key=lambda each: (each.name != key, each.name))]
        if len(numbers) < 2:
            return numbers[0] if numbers else None
        query = rows_of(MESSAGES, "source", "source IN {sources:Array(UInt128)} AND idx = 0")
        full = {source for (source,) in self._select(scope, key, query, {"sources": numbers}, look)}
        return next((each for each in numbers if each in full), numbers[0])
