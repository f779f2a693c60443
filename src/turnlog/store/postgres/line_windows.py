"""Lines by where they begin, how much there is of files, and what answers used."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from psycopg import Connection

from turnlog.store.identity import Place, Scope
from turnlog.store.packing import as_word, pack_text, unpack_text
from turnlog.store.postgres.archive import PostgresArchive
from turnlog.store.postgres.chapters import ChapterQueries, is_at, select
from turnlog.store.windows import AnswerUse, FileCounts, FlawedLine

__all__ = ["LineWindows"]

_GENERATIONS = """
SELECT s.source, g.generation, g.id, g.month
FROM unnest(%(sources)s::text[], %(generations)s::bigint[]) AS w (source, generation)
JOIN sources AS s ON s.owner = %(owner)s AND s.source = w.source
JOIN generations AS g ON g.source = s.id AND g.generation = w.generation
"""
_LENGTHS = f"""
SELECT w.generation, w.start, l.length
FROM unnest(%(generations)s::bigint[], %(starts)s::bigint[]) AS w (generation, start) CROSS JOIN LATERAL (
    SELECT l.length FROM lines AS l
    WHERE l.month = %(month)s AND l.generation = w.generation AND {is_at("l.start", "w.start")}
    ORDER BY l.start OFFSET 0
) AS l
"""
_FLAWED = """
SELECT s.source, g.generation, l.start, l.number, s.path
FROM sources AS s JOIN generations AS g ON g.id = s.newest CROSS JOIN LATERAL (
    SELECT l.start, l.number FROM lines AS l
    WHERE l.month = %(month)s AND l.generation = g.id AND l.problems > 0 ORDER BY l.number OFFSET 0
) AS l
WHERE s.session = %(session)s ORDER BY s.source, l.number LIMIT %(count)s OFFSET %(first)s
"""
_FILES = """
SELECT count(*), count(*) FILTER (WHERE NOT present), coalesce(sum(files), 0), coalesce(sum(bytes), 0),
    coalesce(sum(lines), 0)
FROM (
    SELECT bool_or(s.present) AS present, count(*) AS files, sum(g.length) AS bytes, sum(g.lines) AS lines
    FROM sources AS s JOIN generations AS g ON g.id = s.newest WHERE s.owner = %(owner)s GROUP BY s.session
) AS sessions
"""
_ANSWERS = """
SELECT DISTINCT ON (a.message_id) a.message_id, a.input, a.output, a.cache_read,
    a.cache_write_5m::numeric + a.cache_write_1h,
    CASE WHEN a.flags & 2 = 0 THEN a.cost END
FROM answers AS a JOIN usage_groups AS g ON g.id = a.grp JOIN sessions AS e ON e.id = g.session
WHERE a.message_id = ANY(%(ids)s::bytea[]) AND e.owner = %(owner)s AND g.audience <> 2
ORDER BY a.message_id, a.output DESC, e.key
"""
_VERSION = """
SELECT coalesce(sum(version), 0) FROM usage_versions WHERE session = 0 OR session = (
    SELECT id FROM sessions WHERE owner = %(owner)s AND key = %(key)s
)
"""


class LineWindows(ChapterQueries):
    """What `PostgresStore` tells of lines, files and answers."""

    _archive: PostgresArchive

    def list_flawed(self, scope: Scope, key: str, *, first: int = 0, count: int = 100) -> list[FlawedLine]:
        """Return lines of the newest generations that have problems, by source and number."""
        rows = self._select(scope, key, None, _FLAWED, {"first": first, "count": count})
        return [
            FlawedLine(place=Place(source, generation, start), number=number, path=unpack_text(path))
            for source, generation, start, number, path in rows
        ]

    def count_files(self, scope: Scope) -> FileCounts:
        """Return how much there is of all sessions."""
        [(sessions, only_here, files, size, lines)] = self._ask(scope, select, _FILES, {"owner": scope.owner})
        return FileCounts(
            sessions=sessions, only_here=only_here, files=int(files), bytes=int(size), lines=int(lines)
        )

    def find_answers(self, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""
        values = {"owner": scope.owner, "ids": [pack_text(id) for id in sorted(set(ids))]}
        return [
            AnswerUse(
                message_id=unpack_text(found),
                input=input,
                output=output,
                cache_read=read,
                cache_write=int(write),
                cost=None if cost is None else int(cost),
            )
            for found, input, output, read, write, cost in self._ask(scope, select, _ANSWERS, values)
        ]

    def find_usage_version(self, scope: Scope, key: str) -> int:
        """Return a number that changes when another session changes what is told of this one's answers."""
        [(version,)] = self._ask(scope, select, _VERSION, {"owner": scope.owner, "key": as_word(key)})
        return int(version)

    def measure_lines(self, scope: Scope, places: Sequence[Place]) -> list[int]:
        """Return how long lines are, one for each place; raises `KeyError` where no line begins."""
        found = self._ask(scope, _measure, scope, sorted(set(places)))
        return [found[place] for place in places]

    def read_lines(self, scope: Scope, places: Sequence[Place]) -> list[bytes]:
        """Return lines as they stand, one for each place; those of one frame are read while it is open."""
        lengths = self._ask(scope, _measure, scope, sorted(set(places)))
        found = self._archive.read_many(scope, {place: lengths[place] for place in places})
        return [found[place] for place in places]


def _measure(connection: Connection, scope: Scope, places: Sequence[Place]) -> dict[Place, int]:
    """Return the lengths of the lines that begin at places, of those where one does."""
    files = sorted({(place.source, place.generation) for place in places if as_word(place.source) is not None})
    values = {"sources": [source for source, _ in files], "generations": [number for _, number in files]}
    rows = select(connection, _GENERATIONS, {"owner": scope.owner, **values}) if files else []
    numbers = {(source, generation): (month, id) for source, generation, id, month in rows}
    names = {id: name for name, (_, id) in numbers.items()}
    wanted = sorted(
        (*numbers[place.source, place.generation], place.offset)
        for place in places
        if (place.source, place.generation) in numbers
    )
    found: dict[Place, int] = {}
    for month, group in groupby(wanted, lambda each: each[0]):
        lines = [(id, start) for _, id, start in group]
        values = {"month": month, "generations": [id for id, _ in lines], "starts": [at for _, at in lines]}
        for id, start, length in select(connection, _LENGTHS, values):
            found[Place(*names[id], start)] = length
    return found
