"""Whether a database agrees with itself: SQLite's own check, and whether rows have what they belong to."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from turnlog.store.care import Flaw
from turnlog.store.identity import Scope
from turnlog.store.sqlite.connection import reading
from turnlog.store.sqlite.derived_kinds import DERIVED_TABLES
from turnlog.store.sqlite.people import list_misjudged

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
    "bytes belong to no file": ("frames", "tail_frames", "checkpoints", "lines"),
}


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
            found = [*_list_lost(connection, scope), *_list_miscounted(connection, scope)]
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
    for table in ("digests", "access", *DERIVED_TABLES):
        query = f"SELECT 1 FROM {table} WHERE session NOT IN (SELECT id FROM sessions) LIMIT 1"
        if connection.execute(query).fetchall():
            yield Flaw(None, f"rows belong to no session ({table})")


def _list_miscounted(connection: apsw.Connection, scope: Scope) -> Iterator[Flaw]:
    """Yield where there are not as many digests as rows: what differs could not be told from them."""
    for table, number in DERIVED_TABLES.items():
        query = f"""
        SELECT e.key FROM sessions AS e WHERE e.owner = ? AND
            (SELECT count(*) FROM {table} WHERE session = e.id) <>
            (SELECT ifnull(sum(rows), 0) FROM digests WHERE session = e.id AND kind = {number})
        """
        for (key,) in connection.execute(query, (scope.owner,)):
            yield Flaw(key, f"the number of digests and rows differs ({table})", True)


def _describe(message: str) -> Flaw:
    return Flaw(None, message, any(name in message for name in _INDEX))
