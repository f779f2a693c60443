"""Moving a file to another session: all that is kept of it goes along, but for what was derived from it.

Rows are by session, so they are written again under the new one, and those under the former are deleted when
that is published.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.clickhouse.compacting import note_left
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.record import Session
from turnlog.store.clickhouse.schema import FRAMES, GENERATIONS, LINES, PATHS
from turnlog.store.clickhouse.search_schema import TEXTS
from turnlog.store.clickhouse.sources import File, Generation
from turnlog.store.clickhouse.staging import Staging
from turnlog.store.clickhouse.stored_frames import COLUMNS, build_frames
from turnlog.store.clickhouse.tables import Table
from turnlog.store.clickhouse.tails import Ending, NewBytes
from turnlog.store.clickhouse.texts import name_file
from turnlog.store.packing import unpack_text

__all__ = ["Moved", "move_file"]

_OF_FILE = ("sources", "source_paths", "generations", "frames", "lines", "rows", "sightings")
_ANSWERS = """
SELECT DISTINCT answer FROM rows WHERE session = {session:UInt128} AND kind = 6 AND source = {source:UInt128}
"""
_FRAMES = f"""
SELECT {COLUMNS} FROM {FRAMES.name} FINAL
WHERE session = {{session:UInt128}} AND source = {{source:UInt128}} AND generation = {{generation:Int64}}
ORDER BY start
"""
_AT_ONCE = 10_000


class Moved(Struct, frozen=True):
    """What a file is in its new session, before anything is added to it."""

    file: File
    generations: list[Generation]
    """All of them."""
    paths: list[list[Any]]
    """Rows of `source_paths`."""


def move_file(engine: Engine, staging: Staging, added: NewBytes, file: File, session: Session) -> Moved:
    """Stage what is kept of a file under another session, and have it deleted under the former."""
    former, source = file.source.session, file.source.source
    values = {"session": former, "source": source}
    of_file = f"session = toUInt128('{former}') AND source = toUInt128('{source}')"
    name = name_file(unpack_text(session.owner), unpack_text(file.source.name))
    of_texts = f"session = toUInt128('{former}') AND file = {name}"
    staging.write.note_stale(answer for (answer,) in engine.query(_ANSWERS, values))
    generations = []
    for row in _read(engine, GENERATIONS, of_file, session):
        generation = Generation(*row)
        frames = build_frames(engine.query(_FRAMES, {**values, "generation": generation.generation}))
        before = Ending.read(generation.sealed, generation.tail)
        ending = added.carry(source, generation.generation, frames, before)
        generations.append(replace(generation, tail=ending.cells))
    staging.add(LINES, _read(engine, LINES, of_file, session))
    staging.add(TEXTS, _read(engine, TEXTS, of_texts, session))
    paths = list(_read(engine, PATHS, of_file, session))
    left = Staged(former, file.source.born)
    staging.write.also(lambda execute: note_left(execute, left))
    deletes = staging.write.publication.deletes
    deletes += ((table, of_file) for table in _OF_FILE)
    deletes.append((TEXTS.name, of_texts))
    newest = max(generations, key=lambda each: each.generation)
    moved = replace(file.source, session=session.id, born=session.born)
    return Moved(File(moved, newest), generations, paths)


def _read(engine: Engine, table: Table, where: str, session: Session) -> Iterator[list[Any]]:
    """Yield rows of a table as another session's."""
    final = "FINAL" if table.version else ""
    order = ", ".join(table.key)
    at, born = table.names.index("session"), table.names.index("born")
    query = f"SELECT {', '.join(table.names)} FROM {table.name} {final} WHERE {where} ORDER BY {order}"
    first = 0
    while rows := engine.query(f"{query} LIMIT {_AT_ONCE} OFFSET {first}"):
        for row in rows:
            cells = list(row)
            cells[at], cells[born] = session.id, session.born
            yield cells
        first += len(rows)
