"""Windows of a conversation: ranges of an index, never a whole session.

Where an index is not the primary key, it is named: SQLite takes all rows of a session for a few, and would
rather go through them than look up each row behind an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

import apsw
from msgspec import json

from turnlog.store.identity import Place, Scope
from turnlog.store.rows import CallRow, DerivedRow, MessageRow
from turnlog.store.sqlite.archive import SqliteArchive
from turnlog.store.sqlite.chapters import (
    MAIN,
    SESSION,
    SOURCE,
    Values,
    build_conditions,
    build_values,
    name_chapter,
)
from turnlog.store.sqlite.derived_kinds import CALLS, MESSAGES
from turnlog.store.sqlite.kinds import Kind, UnpackContext
from turnlog.store.sqlite.sources import NEWEST
from turnlog.store.sqlite.values import pack_uuid, unpack_text
from turnlog.store.windows import AnswerUse, FlawedLine, MessageFilter

__all__ = ["Windows"]

R = TypeVar("R", bound=DerivedRow)


class Windows:
    """Asks one connection."""

    def __init__(self, connection: apsw.Connection, context: UnpackContext, archive: SqliteArchive) -> None:
        self._connection = connection
        self._context = context
        self._archive = archive

    def count_messages(self, scope: Scope, key: str, source: str | None) -> int:
        """Return how many messages a chapter has; they are counted from 0 without gaps."""
        query = f"""
        SELECT ifnull(max(idx) + 1, 0) FROM messages
        WHERE session = {SESSION} AND source = {name_chapter(source)}
        """
        [(count,)] = self._connection.execute(query, build_values(scope, key, source))
        return int(count)

    def find_message(self, scope: Scope, key: str, id: str, source: str | None) -> MessageRow | None:
        """Return the message with an id."""
        here = "" if source is None else f"AND t.source = {SOURCE}"
        query = f"""
        {MESSAGES.select} INDEXED BY messages_by_id WHERE t.session = {SESSION} AND t.id = :id {here}
        ORDER BY t.source IS NOT {MAIN}, t.source, t.idx LIMIT 1
        """
        found = self._connection.execute(query, build_values(scope, key, source) | {"id": pack_uuid(id)})
        return next((MESSAGES.unpack(row, self._context) for row in found), None)

    def list_at(self, scope: Scope, key: str, indexes: Sequence[int], source: str | None) -> list[MessageRow]:
        """Return messages by their indexes."""
        return self._list_by(MESSAGES, "idx", scope, key, indexes, source)

    def list_after(
        self, scope: Scope, key: str, source: str | None, first: int, count: int, where: MessageFilter
    ) -> list[MessageRow]:
        """Return messages from an index on, in order."""
        return list(self._list(scope, key, source, "t.idx >= :at", "t.idx", first, count, where))

    def list_before(
        self, scope: Scope, key: str, source: str | None, last: int, count: int, where: MessageFilter
    ) -> list[MessageRow]:
        """Return the last messages before an index, in order."""
        rows = list(self._list(scope, key, source, "t.idx < :at", "t.idx DESC", last, count, where))
        return rows[::-1]

    def list_calls_of(
        self, scope: Scope, key: str, messages: Sequence[int], source: str | None
    ) -> list[CallRow]:
        """Return the calls of some messages."""
        return self._list_by(CALLS, "message", scope, key, messages, source, "INDEXED BY calls_by_message")

    def list_calls_at(
        self, scope: Scope, key: str, indexes: Sequence[int], source: str | None
    ) -> list[CallRow]:
        """Return calls by their indexes."""
        return self._list_by(CALLS, "idx", scope, key, indexes, source)

    def list_flawed(self, scope: Scope, key: str, first: int, count: int) -> list[FlawedLine]:
        """Return lines that have problems."""
        query = f"""
        SELECT s.source, g.generation, l.start, l.number, p.path
        {NEWEST} JOIN lines AS l ON l.generation = g.id AND l.problems > 0
        WHERE s.session = {SESSION} ORDER BY s.source, l.number LIMIT :count OFFSET :first
        """
        values = build_values(scope, key, None) | {"first": first, "count": count}
        return [
            FlawedLine(place=Place(source, generation, start), number=number, path=unpack_text(path))
            for source, generation, start, number, path in self._connection.execute(query, values)
        ]

    def find_answers(self, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used."""
        query = """
        SELECT a.message_id, a.input, a.output, a.cache_read, a.cache_write_5m + a.cache_write_1h,
            iif(a.flags & 2, NULL, a.cost)
        FROM json_each(?1) AS w CROSS JOIN answers AS a
        ON substr(a.message_id, -10) = substr(w.value, -10) AND a.message_id = w.value
        JOIN usage_groups AS g ON g.id = a.grp JOIN sessions AS e ON e.id = g.session
        WHERE e.owner = ?2 AND g.audience <> 2 ORDER BY a.message_id, a.output, e.key DESC
        """
        wanted = json.encode(sorted(set(ids))).decode()
        # Several people may have it: what has the most output is nearest to the truth.
        answers = {
            found: AnswerUse(
                message_id=found, input=input, output=output, cache_read=read, cache_write=write, cost=cost
            )
            for found, input, output, read, write, cost in self._connection.execute(
                query, (wanted, scope.owner)
            )
        }
        return [*answers.values()]

    def find_usage_version(self, scope: Scope, key: str) -> int:
        """Return how often answers of a session were counted in another way, alone or with all others."""
        query = f"SELECT ifnull(sum(version), 0) FROM usage_versions WHERE session IN (0, {SESSION})"
        [(version,)] = self._connection.execute(query, {"owner": scope.owner, "key": key})
        return int(version)

    def measure_lines(self, scope: Scope, places: Sequence[Place]) -> list[int]:
        """Return how long lines are."""
        found = {place: length for group in _group(places) for place, length in self._measure(scope, *group)}
        return [found[place] for place in places]

    def read_lines(self, scope: Scope, places: Sequence[Place]) -> list[bytes]:
        """Return lines as they stand; those of one frame are read while it is open."""
        found: dict[Place, bytes] = {}
        for group in _group(places):
            for place, length in self._measure(scope, *group):
                found[place] = self._archive.read(scope, place, length)
        return [found[place] for place in places]

    def _measure(
        self, scope: Scope, source: str, generation: int, places: Sequence[Place]
    ) -> Iterator[tuple[Place, int]]:
        query = """
        SELECT l.start, l.length FROM sources AS s JOIN generations AS g ON g.source = s.id
        CROSS JOIN json_each(?4) AS w CROSS JOIN lines AS l INDEXED BY lines_by_start
        ON l.generation = g.id AND l.start = w.value
        WHERE s.owner = ?1 AND s.source = ?2 AND g.generation = ?3
        """
        wanted = json.encode([place.offset for place in places]).decode()
        found = dict(self._connection.execute(query, (scope.owner, source, generation, wanted)))
        for place in places:
            if place.offset not in found:
                raise KeyError(place)
            yield place, found[place.offset]

    def _list_by(
        self,
        kind: Kind[R],
        column: str,
        scope: Scope,
        key: str,
        numbers: Sequence[int],
        source: str | None,
        index: str = "",
    ) -> list[R]:
        query = f"""
        {kind.select} {index} WHERE t.session = {SESSION} AND t.source = {name_chapter(source)}
        AND t.{column} IN (SELECT value FROM json_each(:numbers)) ORDER BY t.idx
        """
        values = build_values(scope, key, source) | {"numbers": json.encode(sorted(set(numbers))).decode()}
        return [kind.unpack(row, self._context) for row in self._connection.execute(query, values)]

    def _list(
        self,
        scope: Scope,
        key: str,
        source: str | None,
        where_from: str,
        order: str,
        at: int,
        count: int,
        where: MessageFilter,
    ) -> Iterator[MessageRow]:
        clauses, wanted = _filter(where)
        query = f"""
        {MESSAGES.select} WHERE t.session = {SESSION} AND t.source = {name_chapter(source)}
        AND {where_from}{clauses} ORDER BY {order} LIMIT :count
        """
        values = build_values(scope, key, source) | {"at": at, "count": count} | wanted
        for row in self._connection.execute(query, values):
            yield MESSAGES.unpack(row, self._context)


def _group(places: Sequence[Place]) -> Iterator[tuple[str, int, list[Place]]]:
    """Yield places by their files."""
    for (source, generation), group in groupby(sorted(set(places)), _file_of):
        yield source, generation, list(group)


def _file_of(place: Place) -> tuple[str, int]:
    return place.source, place.generation


def _filter(where: MessageFilter) -> tuple[str, Values]:
    agents = None if where.agent_id is None else (where.agent_id,)
    words = {"lane": where.lanes, "role": where.roles, "category": where.categories, "agent": agents}
    return build_conditions(words, {"branch": where.branch, "active": where.active})
