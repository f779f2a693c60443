"""Which rows a session and a chapter of it have: found first, so that what follows looks at one partition only.

A planner that is told the month as a number leaves all other partitions out; one that has to look it up in the
same statement makes a plan for each of them, which takes ten times as long as to ask twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from psycopg import Connection

from turnlog.store.identity import Scope, SourceKind
from turnlog.store.packing import Cells, as_word, pack_text
from turnlog.store.postgres.connection import Connected
from turnlog.store.postgres.hook_spans import name_events

__all__ = [
    "CHAPTER",
    "SESSION",
    "Chapter",
    "ChapterQueries",
    "build_conditions",
    "find_chapter",
    "head",
    "is_at",
    "is_same",
    "look_up",
    "select",
]

_FIND = f"""
SELECT e.id, e.month, array(
    SELECT s.id FROM sources AS s WHERE s.session = e.id AND s.kind = '{SourceKind.TRANSCRIPT}'
    ORDER BY s.source <> e.key, s.source
), (SELECT s.id FROM sources AS s WHERE s.session = e.id AND s.source = %(source)s)
FROM sessions AS e WHERE e.owner = %(owner)s AND e.key = %(key)s
"""
_CHOOSE = """
SELECT w.source FROM unnest(%(transcripts)s::bigint[]) WITH ORDINALITY AS w (source, place)
WHERE EXISTS (
    SELECT 1 FROM messages AS t WHERE t.month = %(month)s AND t.session = %(session)s AND t.source = w.source
) ORDER BY w.place LIMIT 1
"""
SESSION = "t.month = %(month)s AND t.session = %(session)s"
"""Which rows of a table `t` are those of a session; `Chapter.values` has the values."""
CHAPTER = f"{SESSION} AND t.source = %(chapter)s"
_NO_VALUES: Mapping[str, Any] = MappingProxyType({})
_INDEXED = 64
"""How many bytes of a text that may be of any length are in an index."""


class Chapter(Struct, frozen=True, gc=False):
    """A session and a file of it, by their numbers; None if they are not there."""

    session: int | None = None
    month: int | None = None
    source: int | None = None
    main: int | None = None
    """The transcript: of several, the one that is read."""

    @property
    def values(self) -> dict[str, Any]:
        """What queries name them by."""
        return {"session": self.session, "month": self.month, "chapter": self.source, "main": self.main}


_NOWHERE = Chapter()


class ChapterQueries(Connected):
    """Asks for rows of one chapter or session."""

    def _select(
        self,
        scope: Scope,
        key: str,
        source: str | None,
        query: str,
        values: Mapping[str, Any] = _NO_VALUES,
        session_id: str | None = None,
    ) -> list[Cells]:
        """Return what a query gives that names a chapter by `Chapter.values`: the transcript, or `source`.

        With the id that hooks know the session by, it may also name deliveries, by `name_events`.
        """
        return self._ask(scope, _select_chapter, scope, key, source, query, values, session_id)


def select(connection: Connection, query: str, values: Mapping[str, Any]) -> list[Cells]:
    """Return what a query gives."""
    return connection.execute(query, values, binary=True).fetchall()


def _select_chapter(
    connection: Connection,
    scope: Scope,
    key: str,
    source: str | None,
    query: str,
    values: Mapping[str, Any],
    session_id: str | None,
) -> list[Cells]:
    named = find_chapter(connection, scope, key, source).values
    if session_id is not None:
        named |= name_events(connection, scope, session_id)
    return select(connection, query, {**named, **values})


def find_chapter(connection: Connection, scope: Scope, key: str, source: str | None = None) -> Chapter:
    """Return a chapter of a session; without `source`, the transcript."""
    named = None if source is None else as_word(source)
    values = {"owner": scope.owner, "key": as_word(key), "source": named}
    for session, month, transcripts, number in connection.execute(_FIND, values).fetchall():
        main = _choose(connection, session, month, transcripts)
        return Chapter(session, month, main if source is None else number, main)
    return _NOWHERE


def _choose(connection: Connection, session: int, month: int, transcripts: list[int]) -> int | None:
    """Return the transcript that has messages, else the first."""
    if len(transcripts) > 1:
        values = {"session": session, "month": month, "transcripts": transcripts}
        for (source,) in connection.execute(_CHOOSE, values).fetchall():
            return int(source)
    return transcripts[0] if transcripts else None


def head(text: str) -> str:
    """Return how a text begins, as indexes have it."""
    return f"substring({text} from 1 for {_INDEXED})"


def is_same(one: str, other: str) -> str:
    """Return the condition that two texts of any length are the same; to be looked up in order of `head`."""
    return f"{is_at(head(one), head(other))} AND {one} = {other}"


def is_at(column: str, value: str) -> str:
    """Return the condition that a column has a value, said so that in the order of the column it is looked up.

    A server that has not counted the rows of a session yet takes them for a few, and would go through them. If
    they are to come in the order of a column, it takes the index that has them so, and enters it at the value.
    """
    return f"{column} BETWEEN {value} AND {value}"


def look_up(columns: str, table: str, column: str, value: str) -> str:
    """Return a query for rows of a chapter by one column, to be joined to values one by one (`LATERAL`)."""
    return f"""
    SELECT {columns} FROM {table} AS t WHERE {CHAPTER} AND {is_at(f"t.{column}", value)}
    ORDER BY t.{column} OFFSET 0
    """


def build_conditions(wanted: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return conditions for columns of `t`, and their values: one of several words, or the very value."""
    clauses: list[str] = []
    values: dict[str, Any] = {}
    for column, value in wanted.items():
        if isinstance(value, tuple):
            clauses.append(f" AND t.{column} = ANY(%({column})s)")
            values[column] = [each for each in map(as_word, value) if each is not None]
        elif value is not None:
            clauses.append(f" AND t.{column} = %({column})s")
            values[column] = pack_text(value) if isinstance(value, str) else value
    return "".join(clauses), values
