"""Whether a database agrees with itself: whether rows have what they belong to, and digests are of all rows."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import Connection

from turnlog.store.care import Flaw
from turnlog.store.identity import Scope
from turnlog.store.postgres.kinds import KINDS

__all__ = ["check_server", "list_flaws", "measure"]

_INVALID = """
SELECT format('the index %s is not valid', i.indexrelid::regclass) FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid AND c.relkind = 'r'
"""
_CHECKSUMS = """
SELECT format('%s pages did not have their checksums when they were read', checksum_failures)
FROM pg_stat_database WHERE datname = current_database() AND checksum_failures > 0
"""
# What belongs to a session that is there can be told by its key.
_SOURCES = {
    "a file belongs to no session": "e.id IS NULL",
    "a file has no generation": "NOT EXISTS (SELECT 1 FROM generations WHERE source = s.id)",
    "a file's newest generation is not there": """
        NOT EXISTS (SELECT 1 FROM generations WHERE source = s.id AND id = s.newest)""",
    "a file has no path": "NOT EXISTS (SELECT 1 FROM source_paths WHERE source = s.id)",
}
_OF_GENERATIONS = ("frames", "tail_frames", "lines")


def check_server(connection: Connection) -> list[str]:
    """Return what the server itself knows to be wrong."""
    return [str(text) for query in (_INVALID, _CHECKSUMS) for (text,) in connection.execute(query)]


def list_flaws(connection: Connection, scope: Scope) -> list[Flaw]:
    """Return what contradicts itself in a database, as far as one owner's data and the tables are concerned."""
    return [
        *(Flaw(None, message) for message in check_server(connection)),
        *_list_lost(connection, scope),
        *_list_orphans(connection),
        *_list_miscounted(connection, scope),
    ]


def measure(connection: Connection) -> int:
    """Return how many bytes all tables take, with their indexes."""
    query = """
    SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    """
    [(size,)] = connection.execute(query).fetchall()
    return int(size)


def _list_lost(connection: Connection, scope: Scope) -> Iterator[Flaw]:
    for what, when in _SOURCES.items():
        query = f"""
        SELECT e.key FROM sources AS s LEFT JOIN sessions AS e ON e.id = s.session WHERE s.owner = %s AND {when}
        """
        yield from (Flaw(key, what) for (key,) in connection.execute(query, (scope.owner,)))
    query = """
    SELECT key FROM sessions AS e WHERE owner = %s AND NOT EXISTS (SELECT 1 FROM sources WHERE session = e.id)
    """
    yield from (Flaw(key, "a session has no files") for (key,) in connection.execute(query, (scope.owner,)))


def _list_orphans(connection: Connection) -> Iterator[Flaw]:
    for table in _OF_GENERATIONS:
        query = f"""
        SELECT 1 FROM {table} AS t WHERE NOT EXISTS (SELECT 1 FROM generations WHERE id = t.generation) LIMIT 1
        """
        if connection.execute(query).fetchall():
            yield Flaw(None, f"bytes belong to no file ({table})")
    for table in ("digests", "summaries", *(kind.table for kind in KINDS)):
        query = (
            f"SELECT 1 FROM {table} AS t WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = t.session) LIMIT 1"
        )
        if connection.execute(query).fetchall():
            yield Flaw(None, f"rows belong to no session ({table})")


def _list_miscounted(connection: Connection, scope: Scope) -> Iterator[Flaw]:
    """Yield where there are not as many digests as rows: what differs could not be told from them."""
    for kind in KINDS:
        query = f"""
        SELECT e.key FROM sessions AS e
        LEFT JOIN (SELECT session, count(*) AS rows FROM {kind.table} GROUP BY session) AS t ON t.session = e.id
        LEFT JOIN (
            SELECT session, sum(rows) AS rows FROM digests WHERE kind = %s GROUP BY session
        ) AS d ON d.session = e.id
        WHERE e.owner = %s AND coalesce(t.rows, 0) <> coalesce(d.rows, 0) ORDER BY e.key
        """
        for (key,) in connection.execute(query, (kind.number, scope.owner)):
            yield Flaw(key, f"the number of digests and rows differs ({kind.table})", True)
