"""The steps that lead from an empty database to the tables of today.

Each step is a function with a name, done in a transaction together with the row that records it, under a lock:
of several processes that open a database at once, one does it and the others wait. A database in which a step
is recorded that we don't know was made by a newer program: it is refused, and not touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from psycopg import Connection

from turnlog.errors import NewerStoreError
from turnlog.store.postgres.lease import LEASE_TABLE
from turnlog.store.postgres.list_schema import LIST_TABLES
from turnlog.store.postgres.partitions import list_months, lock_tables, make_month
from turnlog.store.postgres.schema import FEED_TABLES, FILE_TABLES, HOOK_TABLES, ROW_TABLES
from turnlog.store.postgres.search_schema import SEARCH_TABLES
from turnlog.store.postgres.usage_schema import USAGE_TABLES
from turnlog.store.postgres.wire import SCHEMA

__all__ = [
    "MIGRATIONS",
    "Migration",
    "check_known",
    "create_lease_table",
    "create_list_tables",
    "create_search_tables",
    "create_tables",
    "create_usage_tables",
    "list_missing",
    "migrate",
]

Migration = Callable[[Connection], None]
"""A step; its name is what is recorded, so neither the name nor the step changes once it is released."""


def create_tables(connection: Connection) -> None:
    """Make the tables of files, lines, derived rows, changes and hook deliveries."""
    for tables in (FILE_TABLES, ROW_TABLES, FEED_TABLES, HOOK_TABLES):
        connection.execute(tables)


def create_lease_table(connection: Connection) -> None:
    """Make the table of who keeps which machine's sessions up to date."""
    connection.execute(LEASE_TABLE)


def create_list_tables(connection: Connection) -> None:
    """Make the tables of lists and marks."""
    connection.execute(LIST_TABLES)


def create_usage_tables(connection: Connection) -> None:
    """Make the tables of usage."""
    connection.execute(USAGE_TABLES)


def create_search_tables(connection: Connection) -> None:
    """Make the tables of search."""
    # Not in our schema: a schema can be given another name, and the extension is of the whole database.
    connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public")
    connection.execute(SEARCH_TABLES)


MIGRATIONS: tuple[Migration, ...] = (
    create_tables,
    create_list_tables,
    create_usage_tables,
    create_search_tables,
    create_lease_table,
)


def check_known(connection: Connection, name: str) -> None:
    """Raise `NewerStoreError` if a step is recorded that this program does not know."""
    known = {migration.__name__ for migration in MIGRATIONS}
    unknown = sorted(_list_applied(connection) - known)
    if unknown:
        raise NewerStoreError(
            f"The store {name} was made by a newer version of turnlog (it has {', '.join(unknown)}); "
            "it was not touched"
        )


def list_missing(connection: Connection) -> list[str]:
    """Return the names of the steps that are still to be done."""
    applied = _list_applied(connection)
    return [migration.__name__ for migration in MIGRATIONS if migration.__name__ not in applied]


def migrate(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Do the steps that are missing, in their order."""
    if not list_missing(connection):
        return
    for migration in migrations:
        with _transacting(connection):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            # Another process may have done it while we waited for our turn.
            if migration.__name__ not in _list_applied(connection):
                _apply(connection, migration)


def _apply(connection: Connection, migration: Migration) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_ns bigint NOT NULL)"
    )
    migration(connection)
    for month in list_months(connection):  # a table that is new has partitions as the others have
        make_month(connection, month)
    connection.execute("INSERT INTO migrations VALUES (%s, %s)", (migration.__name__, time.time_ns()))


@contextmanager
def _transacting(connection: Connection) -> Iterator[None]:
    with connection.transaction():
        lock_tables(connection)
        yield


def _list_applied(connection: Connection) -> set[str]:
    [(found,)] = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.migrations",))
    if not found:
        return set()
    return {name for (name,) in connection.execute("SELECT name FROM migrations")}
