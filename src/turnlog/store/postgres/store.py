"""The store on a PostgreSQL server, put together from its parts."""

from __future__ import annotations

from turnlog.store.postgres.archive import PostgresArchive
from turnlog.store.postgres.browsing import Browsing
from turnlog.store.postgres.caring import Caring
from turnlog.store.postgres.connection import Database
from turnlog.store.postgres.feed import ChangeListener
from turnlog.store.postgres.keeping import Keeping
from turnlog.store.postgres.opening import check_current, make_current
from turnlog.store.postgres.searching import Searching
from turnlog.store.postgres.usage_queries import Counting
from turnlog.store.postgres.usage_writing import is_outdated

__all__ = ["PostgresStore"]


class PostgresStore(Keeping, Caring, Browsing, Searching, Counting):
    """A store in a PostgreSQL database; `open` makes one.

    A store may be used by several threads, and a database by any number of stores.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._archive = PostgresArchive(database)

    @classmethod
    def open(cls, address: str, *, read_only: bool = False) -> PostgresStore:
        """Open the store in a database, whose tables are made if they are missing and may be written.

        Raises `NewerStoreError` for one of a newer version, which is not touched, and `StoreError` for one that
        cannot be used.
        """
        (check_current if read_only else make_current)(address)
        database = Database(address, read_only=read_only)
        database.open()
        store = cls(database)
        try:
            if not read_only and store._ask(is_outdated):
                store.recount()
        except BaseException:
            store.close()
            raise
        return store

    @property
    def writes(self) -> int:
        """How many rows were written through this store."""
        return self._database.writes

    def listen(self) -> ChangeListener:
        """Return what tells of changes whoever writes them."""
        return ChangeListener(self._database.address)

    def close(self) -> None:
        """Let go of the store, whatever other threads ask it just now; again does nothing."""
        self._database.close()
