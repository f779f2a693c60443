"""The store on a PostgreSQL server, put together from its parts."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.store.identity import Scope
from turnlog.store.postgres.archive import PostgresArchive
from turnlog.store.postgres.browsing import Browsing
from turnlog.store.postgres.caring import Caring
from turnlog.store.postgres.connection import Database
from turnlog.store.postgres.feed import ChangeListener
from turnlog.store.postgres.keeping import Keeping
from turnlog.store.postgres.opening import check_current, make_current
from turnlog.store.postgres.people import People
from turnlog.store.postgres.searching import Searching
from turnlog.store.postgres.usage_queries import PostgresUsage
from turnlog.store.postgres.usage_writing import is_outdated, recount
from turnlog.store.usage.recounting import RecountedUsage, recount_answers
from turnlog.store.usage.source import UsageSource
from turnlog.store.windows import AnswerUse

__all__ = ["PostgresStore"]


class PostgresStore(Keeping, Caring, Browsing, Searching, People):
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
            if not read_only and database.ask(is_outdated):
                store.recount()
        except BaseException:
            store.close()
            raise
        return store

    @property
    def writes(self) -> int:
        """How many rows were written through this store."""
        return self._database.writes

    def read_usage(self, scope: Scope) -> UsageSource:
        """Return what sessions used and cost, each answer once."""
        if scope.viewer is not None and scope.viewer.session is not None:
            return RecountedUsage(
                self, scope
            )  # what is kept is elected among sessions that a link does not show
        return PostgresUsage(self._database, scope)

    def find_answers(self, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""
        is_link = scope.viewer is not None and scope.viewer.session is not None
        return recount_answers(self, scope, ids) if is_link else super().find_answers(scope, ids)

    def recount(self) -> None:
        """Count all usage anew from what is known of answers, by the price list that is installed."""
        self._write(recount)

    def listen(self) -> ChangeListener:
        """Return what tells of changes whoever writes them."""
        return ChangeListener(self._database.address)

    def close(self) -> None:
        """Let go of the store, whatever other threads ask it just now; again does nothing."""
        self._database.close()
