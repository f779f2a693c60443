"""Whether a database agrees with itself: SQLite's own check, and whether rows have what they belong to."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from turnlog.store.identity import Scope
from turnlog.store.maintenance import Flaw
from turnlog.store.sqlite.connection import reading
from turnlog.store.sqlite.people import list_misjudged
from turnlog.transcripts.segments import SEGMENT

__all__ = ["check_pages", "list_flaws"]

_MOST = 20
_INDEX = ("FTS5 table main.cells", 'table "cells"')
"""How SQLite names the index of words, which follows from the bytes."""

# What belongs to a session that is there can be told by its key.
_LOST = """
SELECT e.key, '{what}' FROM sources AS s LEFT JOIN sessions AS e ON e.id = s.session
WHERE s.owner = ? AND {when}
"""
_SOURCES = {
    "a file belongs to no session": "e.id IS NULL",
    "a file has no path": "NOT EXISTS (SELECT 1 FROM source_paths WHERE source = s.id)",
    "a file has no generation": "NOT EXISTS (SELECT 1 FROM generations WHERE source = s.id)",
    "the length of a generation is missing": """EXISTS (
        SELECT 1 FROM generations AS g WHERE g.source = s.id
        AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE generation = g.id))""",
}
_OTHERS = {
    "a session has no files": (
        "SELECT key FROM sessions AS e WHERE owner = ? "
        "AND NOT EXISTS (SELECT 1 FROM sources WHERE session = e.id)"
    ),
}
_ORPHANS = {
    "bytes belong to no file": ("frames", "tail_frames", "checkpoints"),
}


_BROKEN = f"""
SELECT e.key FROM (
    SELECT source FROM (
        SELECT source, number, lines, message, messages, call, calls,
            lag(number, 1, -1) OVER file AS before, lag(lines, 1, {SEGMENT}) OVER file AS lines_before,
            lag(message + messages, 1, 0) OVER file AS message_before,
            lag(call + calls, 1, 0) OVER file AS call_before
        FROM segments WINDOW file AS (PARTITION BY source ORDER BY number)
    )
    WHERE (number, lines_before, message, call) <> (before + 1, {SEGMENT}, message_before, call_before)
    GROUP BY source
) AS b JOIN sources AS s ON s.id = b.source JOIN sessions AS e ON e.id = s.session
WHERE s.owner = ? GROUP BY e.key ORDER BY e.key
"""
"""Sessions with a file whose segments do not follow on each other."""


def check_pages(connection: apsw.Connection, *, quick: bool = False) -> list[str]:
    """Return what SQLite finds wrong with the file."""
    pragma = "quick_check" if quick else "integrity_check"
    found = [str(text) for (text,) in connection.execute(f"PRAGMA {pragma}({_MOST})")]
    return [] if found == ["ok"] else found


def list_flaws(connection: apsw.Connection, scope: Scope) -> list[Flaw]:
    """Return what contradicts itself in a database, as far as one owner's data and the file are concerned."""
    try:
        with reading(connection):
            pages = [_describe(message) for message in check_pages(connection)]
            found = [*_list_lost(connection, scope)]
            broken = connection.execute(_BROKEN, (scope.owner,))
            found += [Flaw(key, "segments of a file do not follow on each other", True) for (key,) in broken]
            message = "its access does not match its machine's owner and the rules"
            return [*pages, *found, *(Flaw(key, message, True) for key in list_misjudged(connection, scope))]
    except apsw.CorruptError as error:
        return [_describe(str(error))]


def _list_lost(connection: apsw.Connection, scope: Scope) -> Iterator[Flaw]:
    for what, when in _SOURCES.items():
        for key, message in connection.execute(_LOST.format(what=what, when=when), (scope.owner,)):
            yield Flaw(key, message)
    for what, query in _OTHERS.items():
        yield from (Flaw(key, what) for (key,) in connection.execute(query, (scope.owner,)))
    for what, tables in _ORPHANS.items():
        for table in tables:
            query = f"SELECT 1 FROM {table} WHERE generation NOT IN (SELECT id FROM generations) LIMIT 1"
            if connection.execute(query).fetchall():
                yield Flaw(None, f"{what} ({table})")
    if connection.execute(
        "SELECT 1 FROM segments WHERE source NOT IN (SELECT id FROM sources) LIMIT 1"
    ).fetchall():
        yield Flaw(None, "segments belong to no file")
    for table in ("access", "outlines", "summaries"):
        query = f"SELECT 1 FROM {table} WHERE session NOT IN (SELECT id FROM sessions) LIMIT 1"
        if connection.execute(query).fetchall():
            yield Flaw(None, f"rows belong to no session ({table})")


def _describe(message: str) -> Flaw:
    return Flaw(None, message, any(name in message for name in _INDEX))
