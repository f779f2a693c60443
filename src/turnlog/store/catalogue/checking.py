"""Whether a catalogue agrees with itself: whether rows have what they belong to, and follow on each other."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.store.catalogue.database import Connection
from turnlog.store.catalogue.people import list_misjudged
from turnlog.store.identity import Scope
from turnlog.store.maintenance import Flaw
from turnlog.transcripts.segments import SEGMENT

# What belongs to a session that is there can be told by its key.
_SOURCES = {
    "a file belongs to no session": "e.id IS NULL",
    "a file has no generation": "NOT EXISTS (SELECT 1 FROM generations WHERE source = s.id AND id = s.newest)",
}
_LONE = (
    "SELECT key FROM sessions AS e WHERE owner = ? AND NOT EXISTS (SELECT 1 FROM sources WHERE session = e.id)"
)
_ORPHANS = (
    ("bytes belong to no file", "frames", "generation", "generations"),
    ("bytes belong to no file", "tail_frames", "generation", "generations"),
    ("generations belong to no file", "generations", "source", "sources"),
    ("segments belong to no file", "segments", "source", "sources"),
    ("segments belong to no file", "segment_data", "source", "sources"),
    ("rows belong to no session", "outlines", "session", "sessions"),
    ("rows belong to no session", "summaries", "session", "sessions"),
)
_BROKEN = f"""
SELECT e.key FROM (
    SELECT source FROM (
        SELECT source, number, lines, message, messages, call, calls,
            lag(number, 1, CAST(-1 AS bigint)) OVER file AS before,
            lag(lines, 1, CAST({SEGMENT} AS bigint)) OVER file AS lines_before,
            lag(message + messages, 1, CAST(0 AS bigint)) OVER file AS message_before,
            lag(call + calls, 1, CAST(0 AS bigint)) OVER file AS call_before
        FROM segments WINDOW file AS (PARTITION BY source ORDER BY number)
    ) AS steps
    WHERE number <> before + 1 OR lines_before <> {SEGMENT} OR message <> message_before OR call <> call_before
    GROUP BY source
) AS b JOIN sources AS s ON s.id = b.source JOIN sessions AS e ON e.id = s.session
WHERE s.owner = ? GROUP BY e.key ORDER BY e.key
"""
"""Sessions with a file whose segments do not follow on each other."""


def list_flaws(connection: Connection, scope: Scope) -> list[Flaw]:
    """Return what contradicts itself, as far as one owner's data and the tables are concerned."""
    found = [*_list_lost(connection, scope)]
    broken = connection.execute(_BROKEN, (scope.owner,))
    found += [Flaw(key, "segments of a file do not follow on each other", True) for (key,) in broken]
    message = "its access does not match its machine's owner and the rules"
    return [*found, *(Flaw(key, message, True) for key in list_misjudged(connection, scope))]


def _list_lost(connection: Connection, scope: Scope) -> Iterator[Flaw]:
    for what, when in _SOURCES.items():
        query = f"""
        SELECT e.key FROM sources AS s LEFT JOIN sessions AS e ON e.id = s.session WHERE s.owner = ? AND {when}
        """
        yield from (Flaw(key, what) for (key,) in connection.execute(query, (scope.owner,)))
    yield from (Flaw(key, "a session has no files") for (key,) in connection.execute(_LONE, (scope.owner,)))
    for what, table, column, owner in _ORPHANS:
        query = f"SELECT 1 FROM {table} WHERE {column} NOT IN (SELECT id FROM {owner}) LIMIT 1"
        if connection.execute(query):
            yield Flaw(None, f"{what} ({table})")
