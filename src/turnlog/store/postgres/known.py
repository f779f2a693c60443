"""What is known of sessions' files, and what follows from them: plain lists of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from psycopg import Connection

from turnlog.store.checkpoints import decode_checkpoint
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import BEGINNING, KnownSession, KnownSource, Twin
from turnlog.store.packing import Cells, as_word, pack_text, pack_uuid, unpack_line, unpack_row, unpack_text
from turnlog.store.postgres.archive import find_generation
from turnlog.store.postgres.chapters import find_chapter
from turnlog.store.postgres.kinds import SIGHTINGS, Kind
from turnlog.store.rows import DerivedRow, LineFact, SightingRow

__all__ = [
    "list_chapter",
    "list_every_sighting",
    "list_known",
    "list_lines",
    "list_rows",
    "list_twins",
]

R = TypeVar("R", bound=DerivedRow)

_AT_ONCE = 2000
_TWINS = f"""
SELECT DISTINCT e.key, e.session_id, l.session_id, s.copied_from
FROM (
    SELECT generation, min(number) AS number FROM lines
    WHERE substring(parent from 1 for 64) = substring(%(uuid)s::bytea from 1 for 64) AND parent = %(uuid)s
        AND number < {BEGINNING} GROUP BY generation
) AS f
JOIN sources AS s ON s.newest = f.generation JOIN sessions AS e ON e.id = s.session
JOIN generations AS g ON g.id = f.generation
JOIN lines AS l ON l.month = g.month AND l.generation = g.id AND l.number = f.number
WHERE s.owner = %(owner)s AND s.kind = '{SourceKind.TRANSCRIPT}' AND EXISTS (
    SELECT 1 FROM lines AS b
    WHERE b.month = g.month AND b.generation = g.id AND b.number < f.number AND b.uuid = %(uuid)s
) ORDER BY e.key
"""


def list_known(
    connection: Connection, scope: Scope, key: str | None = None, origin: str | None = None
) -> list[KnownSession]:
    """Return what is known of the files of one session, of those of one machine, or of all."""
    values = {"owner": scope.owner, "key": key, "origin": pack_text(origin)}
    wanted = " AND ".join(f"e.{name} = %({name})s" for name, value in values.items() if value is not None)
    if key is not None:
        values["key"] = as_word(key)
    query = f"""
    SELECT e.key, e.revision, e.session_id, e.project_folder, e.derivation, e.origin, s.source, s.kind, s.path,
        s.present, g.generation, g.length, g.consumed, g.in_array, g.lines, g.checkpoint, s.agent_id, s.run_id,
        s.copied_from
    FROM sessions AS e JOIN sources AS s ON s.session = e.id JOIN generations AS g ON g.id = s.newest
    WHERE {wanted} ORDER BY e.key, s.source
    """
    return [
        KnownSession(
            key=found,
            revision=revision,
            session_id=unpack_text(session_id),
            project_folder=unpack_text(folder),
            derivation=derivation,
            sources=tuple(map(_unpack_known, group)),
            origin=unpack_text(machine),
        )
        for (found, revision, session_id, folder, derivation, machine), group in groupby(
            connection.execute(query, values), itemgetter(0, 1, 2, 3, 4, 5)
        )
    ]


def list_twins(connection: Connection, scope: Scope, uuid: str) -> list[Twin]:
    """Return the sessions whose transcripts begin with a message, by key."""
    rows = connection.execute(_TWINS, {"owner": scope.owner, "uuid": pack_uuid(uuid)})
    return [
        Twin(key=key, session_id=unpack_text(name), told_id=unpack_text(told), copied_from=copied)
        for key, name, told, copied in rows
    ]


def list_lines(
    connection: Connection, scope: Scope, source: str, generation: int, first: int, count: int | None
) -> list[LineFact]:
    """Return lines of a generation, in order."""
    found = find_generation(connection, scope, source, generation)
    if found is None:
        return []
    query = """
    SELECT start, length, number, dialect, type, uuid, parent, session_id, agent_id, message_id, time,
        sidechain, problems
    FROM lines WHERE month = %s AND generation = %s AND number >= %s ORDER BY number LIMIT %s
    """
    return [unpack_line(row) for row in connection.execute(query, (found.month, found.id, first, count))]


def list_chapter(
    connection: Connection,
    kind: Kind[R],
    scope: Scope,
    key: str,
    source: str | None,
    first: int = 0,
    count: int | None = None,
) -> list[R]:
    """Return rows of one chapter, from an index on; without `source`, of the transcript."""
    chapter = find_chapter(connection, scope, key, source)
    query = f"""
    SELECT row FROM {kind.table} WHERE month = %s AND session = %s AND source = %s AND idx >= %s
    ORDER BY idx LIMIT %s
    """
    values = (chapter.month, chapter.session, chapter.source, first, count)
    return [unpack_row(kind.type, row) for (row,) in connection.execute(query, values)]


def list_rows(connection: Connection, kind: Kind[R], scope: Scope, key: str) -> list[R]:
    """Return derived rows of a session: of all chapters, the transcript's first."""
    chapter = find_chapter(connection, scope, key)
    query = f"""
    SELECT t.row FROM {kind.table} AS t LEFT JOIN sources AS s ON s.id = t.source
    WHERE t.month = %s AND t.session = %s ORDER BY s.kind <> '{SourceKind.TRANSCRIPT}', s.source, t.idx
    """
    rows = connection.execute(query, (chapter.month, chapter.session))
    return [unpack_row(kind.type, row) for (row,) in rows]


def list_every_sighting(connection: Connection, scope: Scope) -> Iterator[SightingRow]:
    """Yield the sightings of all sessions, by their keys; they are not all in memory at once."""
    query = """
    SELECT t.row FROM sightings AS t JOIN sessions AS e ON e.id = t.session WHERE e.owner = %s
    ORDER BY e.key, t.source, t.idx
    """
    with connection.cursor("sightings") as cursor:
        cursor.itersize = _AT_ONCE
        rows: Iterable[Cells] = cursor.execute(query, (scope.owner,))
        for (row,) in rows:
            yield unpack_row(SIGHTINGS.type, row)


def _unpack_known(cells: tuple[Any, ...]) -> KnownSource:
    (
        source, kind, path, present, generation, length, consumed, in_array, lines, checkpoint, agent_id,
        run_id, copied_from,
    ) = cells[6:]  # fmt: skip
    return KnownSource(
        source=source, kind=SourceKind(kind), path=unpack_text(path), present=present, generation=generation,
        length=length, consumed=consumed, in_array=in_array, lines=lines,
        checkpoint=decode_checkpoint(checkpoint), agent_id=unpack_text(agent_id), run_id=unpack_text(run_id),
        copied_from=copied_from,
    )  # fmt: skip
