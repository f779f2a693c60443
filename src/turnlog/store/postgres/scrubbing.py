"""Removing from a server's files what was deleted: a table has what it had until it is written anew.

That needs the table for itself, and is put off while others use it. What the server has in its log, and in
archives of that, is its own affair.
"""

from __future__ import annotations

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

__all__ = ["scrub", "tell_statistics"]

_USED = """
SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r'
    AND (%s OR pg_stat_get_dead_tuples(c.oid) > 0 OR pg_stat_get_dead_tuples(c.reltoastrelid) > 0)
ORDER BY c.relname
"""
_TELLING = 150000
"""The first version of the server whose statistics can be had at once."""
_SCRUB_SECONDS = 3
"""How long to wait for others who use a table."""


def scrub(connection: Connection, schema: str) -> bool:
    """Write tables of a schema anew from which something was deleted, outside of a transaction.

    Returns False if one of them is in use.
    """
    is_done = True
    [(before,)] = connection.execute("SHOW lock_timeout").fetchall()
    connection.execute(f"SET lock_timeout TO '{_SCRUB_SECONDS}s'")
    try:
        is_silent = connection.info.server_version < _TELLING
        for (table,) in connection.execute(_USED, (schema, is_silent)).fetchall():
            try:
                connection.execute(SQL("VACUUM (FULL, ANALYZE) {}").format(Identifier(schema, table)))
            except psycopg.errors.LockNotAvailable:
                is_done = False
    finally:
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (before,))
    return is_done


def tell_statistics(connection: Connection) -> None:
    """Let `scrub` see what was deleted, in the transaction that does it."""
    if connection.info.server_version >= _TELLING:
        connection.execute("SELECT pg_stat_force_next_flush()")
