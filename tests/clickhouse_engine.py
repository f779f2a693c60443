"""The engine of ClickHouse within the process of the tests, and stores on it.

There is one engine for each process, in a folder that goes with it; each store has a database of its own. What
tests used before goes after a while: the engine looks after all tables that there are.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections import deque
from functools import cache
from pathlib import Path
from uuid import uuid4

from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.store import ClickHouseStore

__all__ = ["ADDRESSES", "make_address", "make_store", "reopen"]

ADDRESSES: dict[Path, str] = {}
"""Which database a test's folder stands for."""
_KEPT = 12
"""How many databases there are at once."""
_MEMORY = Path("/dev/shm")
_made: deque[str] = deque()


@cache
def _find_folder() -> str:
    where = _MEMORY if _MEMORY.is_dir() else None
    folder = tempfile.mkdtemp(prefix="turnlog-chdb-", dir=where)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def make_address() -> str:
    """Return the address of a database that nobody has used yet."""
    engine = _keep_running()
    while len(_made) >= _KEPT:
        engine.command(f"DROP DATABASE IF EXISTS {_made.popleft()} SYNC")
    _made.append(f"t{uuid4().hex}")
    return f"chdb://{_find_folder()}?database={_made[-1]}"


@cache
def _keep_running() -> Engine:
    """Return what keeps the engine running while no store is open: starting takes long, the more there is."""
    engine = Engine(f"chdb://{_find_folder()}")
    atexit.register(engine.close)
    return engine


def make_store(folder: Path) -> ClickHouseStore:
    """Return an empty store, whose control database and bytes are in a folder."""
    ADDRESSES[folder] = make_address()
    return reopen(folder)


def reopen(folder: Path) -> ClickHouseStore:
    """Return another handle on the store that was made for a folder."""
    return ClickHouseStore.open(ADDRESSES[folder], control=folder / "control.db", blobs=str(folder / "blobs"))
