"""Lines by where they begin, and how much there is of files."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.store.clickhouse.archive import ClickHouseArchive
from turnlog.store.clickhouse.chapters import SESSION, SHORTLY, ChapterQueries
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.memory import Memory
from turnlog.store.clickhouse.reading import see_sessions
from turnlog.store.identity import Place, Scope
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.windows import FileCounts, FlawedLine

__all__ = ["LineWindows"]

# The one who asks is not held back from finding out whose a file is, and sees nothing of it before that.
_GENERATIONS = f"""
SELECT session, source, generation, lines FROM generations FINAL
WHERE source IN {{sources:Array(UInt128)}} AND generation IN {{generations:Array(Int64)}} AND session IN (
    SELECT id FROM sessions FINAL WHERE owner = {{owner:String}} AND id IN (
        SELECT session FROM sources WHERE source IN {{sources:Array(UInt128)}}
    )
){SHORTLY}
"""
_LENGTHS = f"""
SELECT source, generation, start, number, length FROM lines
WHERE session IN {{sessions:Array(UInt128)}} AND source IN {{sources:Array(UInt128)}}
AND generation IN {{generations:Array(Int64)}} AND start IN {{starts:Array(Int64)}}{SHORTLY}
"""
_FLAWED = f"""
SELECT f.name, f.generation, l.start, l.number, f.path FROM (
    SELECT source, generation, number, start FROM lines WHERE {SESSION} AND problems > 0
    ORDER BY source, generation, number LIMIT 1 BY source, generation, number
) AS l
INNER JOIN (SELECT source, name, generation, path FROM sources FINAL WHERE {SESSION}) AS f
ON f.source = l.source AND f.generation = l.generation
INNER JOIN (SELECT source, generation, lines FROM generations FINAL WHERE {SESSION}) AS g
ON g.source = l.source AND g.generation = l.generation
WHERE l.number < g.lines ORDER BY f.name, l.number LIMIT {{count:UInt64}} OFFSET {{first:UInt64}}
"""
_FILES = """
SELECT uniqExact(session), (SELECT countIf(NOT present) FROM sessions FINAL), count(), sum(length), sum(lines)
FROM (
    SELECT session, length, lines FROM generations FINAL
    ORDER BY session, source, generation DESC LIMIT 1 BY session, source
)
"""

_LENGTHS_LATELY: Memory[tuple[Scope, Place], int] = Memory(20_000)
"""How long lines are: that never changes."""


class LineWindows(ChapterQueries):
    """What `ClickHouseStore` tells of lines and files."""

    archive: ClickHouseArchive

    def list_flawed(self, scope: Scope, key: str, *, first: int = 0, count: int = 100) -> list[FlawedLine]:
        """Return lines of the newest generations that have problems, by source and number."""
        return [
            FlawedLine(place=Place(unpack_text(name), generation, start), number=line, path=unpack_text(path))
            for name, generation, start, line, path in self._select(
                scope, key, _FLAWED, {"first": first, "count": count}
            )
        ]

    def count_files(self, scope: Scope) -> FileCounts:
        """Return how much there is of all sessions."""
        [(sessions, only_here, files, size, lines)] = self._reading(scope).query(_FILES)
        return FileCounts(sessions=sessions, only_here=only_here, files=files, bytes=size, lines=lines)

    def measure_lines(self, scope: Scope, places: Sequence[Place]) -> list[int]:
        """Return how long lines are, one for each place; raises `KeyError` where no line begins."""
        found = self._measure(scope, places)
        return [found[place] for place in places]

    def read_lines(self, scope: Scope, places: Sequence[Place]) -> list[bytes]:
        """Return lines as they stand, one for each place; those of one frame are read while it is open."""
        # Whoever shows lines has measured them just before. Whether they may be seen is asked with their bytes.
        known = {place: _LENGTHS_LATELY.find(self._engine, (scope, place)) for place in places}
        lengths = {place: length for place, length in known.items() if length is not None}
        if len(lengths) < len(known):
            lengths = self._measure(scope, places)
        found = self.archive.read_many(scope, {place: lengths[place] for place in places})
        return [found[place] for place in places]

    def _measure(self, scope: Scope, places: Sequence[Place]) -> dict[Place, int]:
        """Return the lengths of the lines that begin at places, of those where one does."""
        names = {number(scope.owner, source): source for source in {place.source for place in places}}
        wanted = {
            "sources": sorted(names),
            "generations": sorted({place.generation for place in places}),
            "starts": sorted({place.offset for place in places}),
        }
        seen = {"sessions": see_sessions(scope, self._reading(scope).retention_days)}
        given = {**wanted, "owner": pack_text(scope.owner)}
        found = self._engine.query(_GENERATIONS, given, seen) if names else []
        if not found:
            return {}
        wanted["sessions"] = sorted({session for session, *_ in found})
        counts = {(source, generation): lines for _, source, generation, lines in found}
        lengths = {
            Place(names[source], generation, start): length
            for source, generation, start, line, length in self._engine.query(_LENGTHS, wanted)
            if line < counts.get((source, generation), 0)
        }
        _LENGTHS_LATELY.keep(self._engine, {(scope, place): length for place, length in lengths.items()})
        return lengths
