"""One state of all tables, held while others write: a database beside theirs, whose tables share their files.

It takes no room until the others change, and goes when it was read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from turnlog.errors import StoreError
from turnlog.store.clickhouse.connection import Engine, quote
from turnlog.store.clickhouse.schema import ABOUT, TABLES
from turnlog.store.clickhouse.session_schema import SUMMARIES
from turnlog.store.packing import unpack_text

__all__ = ["COPIED", "drop_stale_copies", "find_database", "hold_copy", "list_copies"]

COPIED = tuple(table for table in TABLES if table not in (ABOUT, SUMMARIES))
"""The tables that are copied; summaries follow, and which control database it is that of a copy is not said."""
_MARK = "_copying_"
_STALE_NS = 24 * 3_600_000_000_000
"""How old a copy is that nobody reads any more."""


def find_database(engine: Engine) -> str:
    """Return the name of the database that is asked."""
    [(name,)] = engine.query("SELECT currentDatabase()")
    return str(unpack_text(name))


def list_copies(engine: Engine) -> list[str]:
    """Return the databases of copies that are there."""
    query = "SELECT name FROM system.databases WHERE startsWith(name, {prefix:String}) ORDER BY name"
    rows = engine.query(query, {"prefix": find_database(engine) + _MARK})
    return [unpack_text(name) for (name,) in rows]


def drop_stale_copies(engine: Engine) -> None:
    """Drop copies of those who died."""
    for name in list_copies(engine):
        made = name.rpartition("_")[2]
        if made.isdecimal() and time.time_ns() - int(made) > _STALE_NS:
            _drop(engine, name)


@contextmanager
def hold_copy(engine: Engine) -> Iterator[str]:
    """Make a copy of all tables, and lend the name of its database; the caller lets nobody write until then.

    Raises `StoreError` for tables of a cluster.
    """
    if engine.cluster is not None:
        raise StoreError(
            f"The store {engine.name} is on a cluster, whose servers make copies by themselves (BACKUP)"
        )
    drop_stale_copies(engine)
    here = find_database(engine)
    there = f"{here}{_MARK}{time.time_ns()}"
    engine.command(f"CREATE DATABASE {quote(there)}")
    try:
        for table in COPIED:
            name = f"{quote(there)}.{table.name}"
            engine.command(f"CREATE TABLE {name} CLONE AS {quote(here)}.{table.name}")
            with suppress(StoreError):  # it need not be tidy
                engine.command(f"SYSTEM STOP MERGES {name}")
        yield there
    finally:
        _drop(engine, there)


def _drop(engine: Engine, name: str) -> None:
    engine.command(f"DROP DATABASE IF EXISTS {quote(name)} SYNC")
