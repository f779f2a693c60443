"""What is known of sessions' files, and their lines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from turnlog.store.checkpoints import decode_checkpoint
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.reading import Reading, Within
from turnlog.store.identity import SourceKind
from turnlog.store.interface import BEGINNING, KnownSession, KnownSource, Twin
from turnlog.store.packing import Cells, pack_text, pack_uuid, unpack_line, unpack_text
from turnlog.store.rows import LineFact

__all__ = ["LINE_COLUMNS", "find_known", "list_known", "list_lines", "list_twins"]

_SOURCE_COLUMNS = (
    "s.name, s.kind, s.path, s.present, g.generation, g.length, g.consumed, g.in_array, g.lines, g.checkpoint, "
    "s.agent_id, s.run_id, s.copied_from"
)
_JOINED = """
(SELECT * FROM sources FINAL{where}) AS s JOIN (SELECT * FROM generations FINAL{where}) AS g
    ON g.session = s.session AND g.source = s.source AND g.generation = s.generation
"""
_FIND = f"""
SELECT {_SOURCE_COLUMNS} FROM {_JOINED.format(where=" WHERE session = {session:UInt128}")} ORDER BY s.name
"""
_LIST = f"""
SELECT e.key, e.revision, e.session_id, e.project_folder, e.derivation, e.origin, e.person,
    {_SOURCE_COLUMNS}
FROM {_JOINED.format(where="")} JOIN (
    SELECT id, key, revision, session_id, project_folder, derivation, origin, person FROM sessions FINAL
    WHERE @where
) AS e ON e.id = s.session ORDER BY e.key, s.name
"""
LINE_COLUMNS = (
    "start, length, number, dialect, type, uuid, parent, session_id, agent_id, message_id, time, sidechain, "
    "problems"
)
"""What `unpack_line` takes."""
_LINES = f"""
SELECT {LINE_COLUMNS} FROM lines
WHERE session = {{session:UInt128}} AND source = {{source:UInt128}} AND generation = {{generation:Int64}}
    AND number >= {{first:Int64}} AND number < (
        SELECT max(lines) FROM generations FINAL
        WHERE session = {{session:UInt128}} AND source = {{source:UInt128}}
            AND generation = {{generation:Int64}}
    )
ORDER BY number, write DESC LIMIT 1 BY number LIMIT {{count:UInt64}}
"""
_EVERYTHING = (1 << 63) - 1
_CANDIDATES = f"""
SELECT DISTINCT session, source FROM lines WHERE twin = {{twin:UInt128}} AND number < {BEGINNING}
"""
_TRANSCRIPTS = f"""
SELECT s.session, s.source, e.key, e.session_id, s.copied_from, e.person
FROM (SELECT * FROM sources FINAL WHERE session IN {{sessions:Array(UInt128)}}) AS s
JOIN (SELECT id, key, session_id, person FROM sessions FINAL WHERE id IN {{sessions:Array(UInt128)}}) AS e
    ON e.id = s.session
WHERE s.source IN {{sources:Array(UInt128)}} AND s.kind = '{SourceKind.TRANSCRIPT}' ORDER BY e.key
"""
_BEGINNINGS = f"""
SELECT l.session, l.source, l.uuid, l.parent, l.session_id
FROM (
    SELECT * FROM lines FINAL
    WHERE session IN {{sessions:Array(UInt128)}} AND source IN {{sources:Array(UInt128)}}
        AND number < {BEGINNING}
) AS l JOIN (SELECT * FROM generations FINAL WHERE session IN {{sessions:Array(UInt128)}}) AS g
    ON g.session = l.session AND g.source = l.source AND g.generation = l.generation
JOIN (SELECT * FROM sources FINAL WHERE session IN {{sessions:Array(UInt128)}}) AS s
    ON s.session = l.session AND s.source = l.source AND s.generation = l.generation
WHERE l.number < g.lines ORDER BY l.session, l.source, l.number
"""


def find_known(within: Within) -> KnownSession | None:
    """Return what is known of a session's files."""
    session = within.session
    rows = within.query(_FIND)
    originals = within.reading.tell_originals([(row[-1], session.person) for row in rows])
    sources = tuple(_unpack_known(row, copied) for row, copied in zip(rows, originals, strict=True))
    if not sources:
        return None
    return KnownSession(
        key=unpack_text(session.key),
        revision=session.revision,
        session_id=unpack_text(session.session_id),
        project_folder=unpack_text(session.project_folder),
        derivation=session.derivation,
        sources=sources,
        origin=unpack_text(session.origin),
    )


def list_known(reading: Reading, origin: str | None = None) -> list[KnownSession]:
    """Return what is known of the files of all sessions, or of those of one machine, by their keys."""
    where = "true" if origin is None else "origin = {origin:String}"
    rows = reading.query(_LIST.replace("@where", where), {"origin": pack_text(origin or "")})
    originals = reading.tell_originals([(row[-1], row[6]) for row in rows])
    return [
        KnownSession(
            key=unpack_text(key),
            revision=revision,
            session_id=unpack_text(session_id),
            project_folder=unpack_text(folder),
            derivation=derivation,
            sources=tuple(_unpack_known(row[7:], copied) for row, copied in group),
            origin=unpack_text(machine),
        )
        for (key, revision, session_id, folder, derivation, machine), group in groupby(
            zip(rows, originals, strict=True), lambda each: each[0][:6]
        )
    ]


def list_lines(
    within: Within, source: str, generation: int, first: int = 0, count: int | None = None
) -> list[LineFact]:
    """Return lines of a generation, in order."""
    values = {
        "source": number(unpack_text(within.session.owner), source),
        "generation": generation,
        "first": first,
        "count": _EVERYTHING if count is None else count,
    }
    return list(map(unpack_line, within.query(_LINES, values)))


def list_twins(reading: Reading, uuid: str) -> list[Twin]:
    """Return the sessions whose transcripts begin with a message, by key."""
    packed = pack_uuid(uuid) or b""
    # Which of these may be seen is asked of the sessions themselves; mostly there are none.
    found = reading.engine.query(_CANDIDATES, {"twin": number(reading.scope.owner, packed)})
    if not found:
        return []
    sessions, sources = ([*set(column)] for column in zip(*found, strict=True))
    values = {"sessions": sessions, "sources": sources}
    told = _find_told(packed, reading.query(_BEGINNINGS, values))
    rows = reading.query(_TRANSCRIPTS, values)
    originals = reading.tell_originals([row[-2:] for row in rows])
    return [
        Twin(
            key=unpack_text(key),
            session_id=unpack_text(session_id),
            told_id=unpack_text(told[session, source]),
            copied_from=unpack_text(copied),
        )
        for (session, source, key, session_id, *_), copied in zip(rows, originals, strict=True)
        if (session, source) in told
    ]


def _find_told(uuid: bytes, lines: Iterable[Cells]) -> dict[tuple[int, int], bytes | None]:
    """Return the files in which a line follows the message, each with the id of the session that it tells."""
    begun: set[tuple[int, int]] = set()
    found: dict[tuple[int, int], bytes | None] = {}
    follows: set[tuple[int, int]] = set()
    for session, source, own, parent, told in lines:
        at = session, source
        if parent == uuid and at not in follows:
            follows.add(at)
            if at in begun:
                found[at] = told
        if own == uuid:
            begun.add(at)
    return found


def _unpack_known(cells: Cells, copied_from: bytes | None) -> KnownSource:
    (
        source, kind, path, present, generation, length, consumed, in_array, lines, checkpoint, agent_id,
        run_id, _,
    ) = cells  # fmt: skip
    return KnownSource(
        source=unpack_text(source), kind=SourceKind(unpack_text(kind)), path=unpack_text(path), present=present,
        generation=generation, length=length, consumed=consumed, in_array=in_array, lines=lines,
        checkpoint=decode_checkpoint(checkpoint), agent_id=unpack_text(agent_id), run_id=unpack_text(run_id),
        copied_from=unpack_text(copied_from),
    )  # fmt: skip
