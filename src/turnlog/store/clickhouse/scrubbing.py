"""Removing from the engine's files what was deleted.

Rows that are deleted are masked at first: nobody sees them, and they are in their part as before.
`scrub_tables` writes parts anew that have such rows, and lets the engine remove at once what it keeps of former
parts for some minutes, and what it noted of deletions. A part that somebody reads just now stays until they are
done, and so does what a backup copies.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress

from turnlog.errors import StoreError
from turnlog.store.clickhouse.connection import LOCAL_SUFFIX, Engine, quote
from turnlog.store.clickhouse.copying import drop_stale_copies, find_database, list_copies
from turnlog.store.clickhouse.schema import TABLES

__all__ = ["scrub_tables"]

_SECONDS = 15.0
"""How long to wait for others who read what is to be removed."""
_PAUSE = 0.02
_NOW = {
    "old_parts_lifetime": 0,
    "finished_mutations_to_keep": 1,  # the one that has nothing to tell; 0 would keep all
    # What was there before is not there to fall back on, should the power fail.
    "min_rows_to_fsync_after_merge": 1,
    "fsync_part_directory": 1,
    "cleanup_delay_period": 1,
    "cleanup_delay_period_random_add": 0,
    "max_cleanup_delay_period": 2,
}
"""The settings of a table while it is scrubbed."""
_OURS = "database = {database:String} AND table IN {tables:Array(String)}"
_TOUCHED = f"SELECT DISTINCT table FROM {{there}} WHERE {_OURS} AND (NOT active OR has_lightweight_delete)"
_FORMER = f"SELECT table, name FROM {{there}} WHERE {_OURS} AND NOT active"
_NOTED = f"SELECT table, mutation_id FROM {{there}} WHERE {_OURS} AND is_done AND command LIKE '%WHERE%'"
_Left = set[tuple[str, str]]
"""Tables, each with the name of something in its folder."""


def scrub_tables(engine: Engine) -> bool:
    """Remove what was deleted before from the files of all tables; return False if some of it is in use."""
    drop_stale_copies(engine)
    suffix = LOCAL_SUFFIX if engine.cluster is not None else ""
    names = _list_touched(engine, [f"{table.name}{suffix}" for table in TABLES])
    settings = ", ".join(f"{name} = {value}" for name, value in _NOW.items())
    try:
        for name in names:
            _alter(engine, name, f"MODIFY SETTING {settings}")
            _alter(engine, name, "APPLY DELETED MASK")
        # What others delete from now on is their affair.
        return _wait(engine, _list_left(engine, names)) and not list_copies(engine)
    finally:
        for name in names:
            _alter(engine, name, f"RESET SETTING {', '.join(_NOW)}")


def _wait(engine: Engine, left: _Left) -> bool:
    """Have the engine remove what is left of tables, and return whether it did."""
    deadline = time.monotonic() + _SECONDS
    while left:
        if time.monotonic() > deadline:
            return False
        names = sorted({name for name, _ in left})
        for name in names:
            _wake(engine, name)
        time.sleep(_PAUSE)
        left &= _list_left(engine, names)
    return True


def _list_touched(engine: Engine, names: Collection[str]) -> list[str]:
    """Return the tables that may have, in their files, what was deleted."""
    touched = {name for (name,) in _ask(engine, _TOUCHED, "parts", names)}
    return sorted(touched | {name for name, _ in _ask(engine, _NOTED, "mutations", names)})


def _list_left(engine: Engine, names: Collection[str]) -> _Left:
    """Return the parts that were replaced, and what was noted of deletions."""
    found = [*_ask(engine, _FORMER, "parts", names), *_ask(engine, _NOTED, "mutations", names)]
    return {(table, name) for table, name in found}


def _ask(engine: Engine, query: str, table: str, names: Collection[str]) -> list[tuple[str, ...]]:
    there = f"system.{table}"
    if engine.cluster is not None:
        there = f"clusterAllReplicas({quote(engine.cluster)}, {there})"
    rows = engine.query(
        query.replace("{there}", there), {"database": find_database(engine), "tables": list(names)}
    )
    return [tuple(cell.decode() for cell in row) for row in rows]


def _alter(engine: Engine, name: str, what: str) -> None:
    engine.command(f"ALTER TABLE {name}{_everywhere(engine)} {what}")


def _wake(engine: Engine, name: str) -> None:
    """Let the engine look at once for what can be removed; where it cannot be told to, it does so by itself."""
    for verb in ("STOP", "START"):
        with suppress(StoreError):
            engine.command(f"SYSTEM {verb} CLEANUP{_everywhere(engine)} {name}")


def _everywhere(engine: Engine) -> str:
    return "" if engine.cluster is None else f" ON CLUSTER {quote(engine.cluster)}"
