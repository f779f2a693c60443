"""The store that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.config import Settings
from turnlog.store.care import CaredStore
from turnlog.store.identity import LOCAL
from turnlog.store.interface import KnownSession, Store, StoredSession
from turnlog.store.opening import open_store

__all__ = ["find_session", "open_for", "place_of"]

_FILE = "turnlog.db"


def place_of(settings: Settings) -> Path:
    """Return where the store is."""
    return settings.home / _FILE


@contextmanager
def open_for(settings: Settings, *, writing: bool = False, existing: bool = False) -> Iterator[CaredStore]:
    """Open the store, and close it again; for reading, or if it is to be `existing`, it must be there."""
    place = place_of(settings)
    if (existing or not writing) and not place.exists():
        raise NothingFoundError(f"nothing is archived yet in {settings.home}; `turnlog sync` does that")
    store = open_store(place, read_only=not writing)
    try:
        yield store
    finally:
        store.close()


def find_session(store: Store, prefix: str) -> tuple[StoredSession, KnownSession]:
    """Return the one session whose id begins with a prefix."""
    found = store.find_sessions(LOCAL, prefix)
    if not found:
        raise NothingFoundError(f"no archived session begins with {prefix}")
    if len({session.key for session in found}) > 1:
        names = ", ".join(sorted({session.row.session_id or session.key for session in found})[:5])
        raise MisuseError(f"{len(found)} sessions begin with {prefix}: {names}")
    known = store.find_known(LOCAL, found[0].key)
    assert known is not None
    return found[0], known
