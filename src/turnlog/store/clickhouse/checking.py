"""Whether the tables agree with themselves: whether rows have what they belong to, and nothing is missing.

What was staged by a write that still goes on belongs to nothing yet, and is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from msgspec import Struct

from turnlog.store.care import Flaw
from turnlog.store.clickhouse.connection import Engine, Values
from turnlog.store.clickhouse.kinds import KINDS
from turnlog.store.clickhouse.schema import TABLES
from turnlog.store.control.interface import Control
from turnlog.store.identity import Scope
from turnlog.store.packing import Cells, unpack_text

__all__ = ["check_engine", "list_flaws", "measure_tables"]

_NONE: Values = MappingProxyType({})
_SET_ASIDE = """
SELECT table, count() FROM system.detached_parts
WHERE database = currentDatabase() AND startsWith(reason, 'broken') GROUP BY table ORDER BY table
"""
_FAILED = """
SELECT table, latest_fail_reason FROM system.mutations
WHERE database = currentDatabase() AND NOT is_done AND latest_fail_reason <> '' ORDER BY table
"""
_SIZE = "SELECT sum(bytes_on_disk) FROM system.parts WHERE database = currentDatabase()"
_OWN = "sessions FINAL WHERE owner = {owner:String}"
_OF_FILES = {
    "a file has no generation": "NOT has(generations, 0)",
    "a file's newest generation is not there": "NOT has(generations, newest)",
    "a file has no path": "paths = 0",
}
_FILES = f"""
SELECT e.key, s.newest AS newest, g.generations AS generations, p.paths AS paths
FROM (SELECT session, source, generation AS newest FROM sources FINAL) AS s
JOIN (SELECT id, key FROM {_OWN}) AS e ON e.id = s.session
LEFT JOIN (
    SELECT session, source, groupArray(generation) AS generations FROM generations FINAL
    GROUP BY session, source
) AS g ON g.session = s.session AND g.source = s.source
LEFT JOIN (
    SELECT session, source, count() AS paths FROM source_paths FINAL GROUP BY session, source
) AS p ON p.session = s.session AND p.source = s.source
"""
_WITHOUT_FILES = f"SELECT key FROM {_OWN} AND id NOT IN (SELECT session FROM sources) ORDER BY key"
_OVER = "write <= {last:UInt64} AND write NOT IN {going_on:Array(UInt64)}"
_NOT_SUMMARISED = f"""
SELECT key FROM {_OWN} AND {_OVER} AND (id, write) NOT IN (SELECT session, write FROM summaries FINAL)
ORDER BY key
"""
_ORPHANS = f"session NOT IN (SELECT id FROM sessions) AND {_OVER}"
_LOST_BYTES = f"""
(session, source, generation) NOT IN (SELECT session, source, generation FROM generations) AND {_OVER}
"""
_SOME = "session >= {first:UInt128} AND session <= {last_of_some:UInt128}"
_GAPS = f"""
SELECT e.key, t.kind FROM (
    SELECT session, kind, source, countIf(NOT gone) AS rows, maxIf(idx + 1, NOT gone) AS end FROM (
        SELECT session, kind, source, idx, gone FROM rows AS r
        JOIN (SELECT id, revision AS newest FROM {_OWN}) AS n ON n.id = r.session
        WHERE {_SOME} AND r.revision <= n.newest
        ORDER BY session, kind, source, idx, r.revision DESC, r.write DESC LIMIT 1 BY session, kind, source, idx
    ) GROUP BY session, kind, source HAVING rows <> end
) AS t JOIN (SELECT id, key FROM {_OWN}) AS e ON e.id = t.session GROUP BY e.key, t.kind ORDER BY e.key, t.kind
"""


def _add_up(table: str) -> str:
    """Return a query for what the newest rows of sightings come to, by session."""
    return f"""
    SELECT session, sum(cityHash64(source, idx, row)) AS digest FROM (
        SELECT session, source, idx, gone, row FROM {table} AND {_SOME} AND {_OVER}
        ORDER BY session, source, idx, revision DESC, write DESC LIMIT 1 BY session, source, idx
    ) WHERE NOT gone GROUP BY session
    """


_SIGHTED = f"""
SELECT key FROM {_OWN} AND id IN (
    SELECT session FROM ({_add_up("rows WHERE kind = 6")} UNION ALL {_add_up("sightings WHERE true")})
    GROUP BY session HAVING count() <> 2 OR min(digest) <> max(digest)
) ORDER BY key
"""
_AT_ONCE = 5_000_000
"""How many rows are looked at together, about."""
_NUMBERS = 1 << 128
"""How many numbers of sessions there can be; they are everywhere alike."""


class _Moment(Struct, frozen=True):
    """What is looked at: what writes did that are over."""

    engine: Engine
    values: Values

    def ask(self, query: str, values: Values = _NONE) -> list[Cells]:
        return self.engine.query(query, {**self.values, **values})


def check_engine(engine: Engine) -> list[str]:
    """Return what the engine itself knows to be wrong."""
    aside = [
        f"{count} parts of {table.decode()} could not be read" for table, count in engine.query(_SET_ASIDE)
    ]
    failed = [f"{table.decode()} cannot be changed: {unpack_text(why)}" for table, why in engine.query(_FAILED)]
    return aside + failed


def measure_tables(engine: Engine) -> int:
    """Return how many bytes all tables take."""
    [(size,)] = engine.query(_SIZE)
    return int(size)


def list_flaws(engine: Engine, control: Control, scope: Scope) -> list[Flaw]:
    """Return what contradicts itself, as far as one owner's data and the tables are concerned."""
    [(last,)] = control.read(lambda execute: execute("SELECT value FROM @counters WHERE name = 'writes'"))
    going_on = [unfinished.write for unfinished in control.list_unfinished()]
    moment = _Moment(engine, {"owner": scope.owner, "last": last, "going_on": going_on})
    return [
        *(Flaw(None, message) for message in [*check_engine(engine), *_check_parts(engine)]),
        *_list_lost(moment),
        *_list_orphans(moment),
        *_list_gaps(moment),
    ]


def _check_parts(engine: Engine) -> Iterator[str]:
    """Yield which tables are not as their checksums say; the engine reads all of them."""
    if engine.cluster is not None:
        return  # each server looks after its own, and gets what is damaged from its replicas
    for table in TABLES:
        [(is_sound,)] = engine.query(f"CHECK TABLE {table.name} SETTINGS check_query_single_value_result = 1")
        if int(is_sound) != 1:
            yield f"the table {table.name} is damaged"


def _list_lost(moment: _Moment) -> Iterator[Flaw]:
    for what, when in _OF_FILES.items():
        rows = moment.ask(f"SELECT key FROM ({_FILES}) WHERE {when} ORDER BY key")
        yield from (Flaw(unpack_text(key), what) for (key,) in rows)
    yield from (Flaw(unpack_text(key), "a session has no files") for (key,) in moment.ask(_WITHOUT_FILES))
    for (key,) in moment.ask(_NOT_SUMMARISED):
        yield Flaw(unpack_text(key), "lists have another state of the session than it has", True)


def _list_orphans(moment: _Moment) -> Iterator[Flaw]:
    for table in ("frames", "lines"):
        if moment.ask(f"SELECT 1 FROM {table} WHERE {_LOST_BYTES} LIMIT 1"):
            yield Flaw(None, f"bytes belong to no file ({table})")
    for table in ("summaries", "sources", "source_paths", "generations", "rows", "sightings"):
        if moment.ask(f"SELECT 1 FROM {table} WHERE {_ORPHANS} LIMIT 1"):
            yield Flaw(None, f"rows belong to no session ({table})")


def _list_gaps(moment: _Moment) -> Iterator[Flaw]:
    """Yield where derived rows are missing."""
    names = {kind.number: kind.name for kind in KINDS}
    [(count,)] = moment.ask("SELECT count() FROM rows")
    step = -(-_NUMBERS // (count // _AT_ONCE + 1))
    for first in range(0, _NUMBERS, step):
        some = {"first": first, "last_of_some": min(first + step, _NUMBERS) - 1}
        for key, kind in moment.ask(_GAPS, some):
            yield Flaw(unpack_text(key), f"some rows are missing ({names.get(kind, kind)})", True)
        for (key,) in moment.ask(_SIGHTED, some):
            yield Flaw(unpack_text(key), "sightings are not the same by answer as by session", True)
