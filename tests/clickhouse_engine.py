"""ClickHouse within the process of the tests, and stores on PostgreSQL that have their index there.

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
from typing import Any
from uuid import uuid4

from postgres_server import make_archive
from turnlog.store.clickhouse import ClickHouse
from turnlog.store.interface import MaintainedStore, Maintenance
from turnlog.store.model import IndexPlace, ServerPlace
from turnlog.store.opening import open_store

_KEPT = 12
"""How many databases there are at once."""
_MEMORY = Path("/dev/shm")
_made: deque[str] = deque()


@cache
def _find_folder() -> str:
    folder = tempfile.mkdtemp(prefix="turnlog-chdb-", dir=_MEMORY if _MEMORY.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _keep_running() -> ClickHouse:
    """Return what keeps the engine running while no store is open: starting takes long, the more there is."""
    engine = ClickHouse(f"chdb://{_find_folder()}")
    atexit.register(engine.close)
    return engine


def make_index() -> IndexPlace:
    """Return a database of the engine that nobody has used yet."""
    engine = _keep_running()
    while len(_made) >= _KEPT:
        engine.command(f"DROP DATABASE IF EXISTS {_made.popleft()} SYNC")
    _made.append(f"t{uuid4().hex}")
    return IndexPlace(f"chdb://{_find_folder()}?database={_made[-1]}")


def make_place(home: Path) -> ServerPlace:
    """Return the place of an empty archive on PostgreSQL whose index is in the engine."""
    return ServerPlace(make_archive(), home, index=make_index())


class FilledStore:
    """A store whose index is filled before anything is asked of it."""

    def __init__(self, store: MaintainedStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name in ("search", "read_usage", "check_texts", "close"):
            self._store.maintain(Maintenance.FILL)
        return getattr(self._store, name)


def open_filled(place: ServerPlace) -> Any:
    """Open a store whose index is filled before anything is asked of it."""
    return FilledStore(open_store(place))
