"""Opening a database with the tables of today."""

from __future__ import annotations

from contextlib import closing

from turnlog.errors import OlderStoreError, StoreError
from turnlog.store.postgres.failures import translate
from turnlog.store.postgres.migrations import MIGRATIONS, check_known, list_missing, migrate
from turnlog.store.postgres.seen import are_views_current
from turnlog.store.postgres.wire import connect, describe

__all__ = ["check_current", "make_current"]


def check_current(address: str) -> None:
    """Raise `StoreError` if a database cannot be read: there is no store, or a newer or an older one."""
    name = describe(address)
    with translate(name), closing(connect(address)) as connection:
        check_known(connection, name)
        missing = list_missing(connection)
        is_current = not missing and are_views_current(connection)
    if len(missing) == len(MIGRATIONS):
        raise StoreError(f"There is no store at {name}")
    if not is_current:
        raise OlderStoreError(f"The store {name} has an older version; `turnlog sync` updates it")


def make_current(address: str) -> None:
    """Bring the tables of a database up to date; raises `StoreError`, and `NewerStoreError` for a newer one."""
    name = describe(address)
    with translate(name), closing(connect(address)) as connection:
        check_known(connection, name)
        migrate(connection)
