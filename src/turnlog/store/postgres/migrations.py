"""The steps that lead from an empty database to the tables of today.

Each step is a function with a name, done in a transaction together with the row that records it, under a lock:
of several processes that open a database at once, one does it and the others wait. A database in which a step
is recorded that we don't know was made by a newer program: it is refused, and not touched.

Steps that only add what older programs need not know of are listed in `ADDITIVE`, and recorded as such: then
older programs go on as well, so that a new version can be started beside the old one. Any other step waits for
whoever is writing, and whoever did not know it writes no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from psycopg import Connection

from turnlog.errors import NewerStoreError
from turnlog.store.postgres.lease_schema import LEASE_TABLE
from turnlog.store.postgres.list_schema import LIST_TABLES, SERIES_COLUMN
from turnlog.store.postgres.partitions import LOCKS, list_months, lock_tables, make_month
from turnlog.store.postgres.people_schema import (
    CHANGE_AUDIENCES,
    DELIVERY_ORIGINS,
    MARK_AUTHORS,
    PEOPLE_TABLES,
    TOMBSTONE_PERSONS,
    USAGE_AUDIENCES,
)
from turnlog.store.postgres.schema import FEED_TABLES, FILE_TABLES, HOOK_TABLES, ROW_TABLES
from turnlog.store.postgres.search_schema import SEARCH_TABLES
from turnlog.store.postgres.seen import are_views_current, make_views
from turnlog.store.postgres.usage_schema import USAGE_TABLES
from turnlog.store.postgres.wire import SCHEMA

__all__ = [
    "ADDITIVE",
    "MIGRATIONS",
    "Migration",
    "add_change_audiences",
    "add_delivery_origins",
    "add_mark_authors",
    "add_series",
    "add_tombstone_persons",
    "add_usage_audiences",
    "check_known",
    "create_lease_table",
    "create_list_tables",
    "create_people_tables",
    "create_search_tables",
    "create_tables",
    "create_usage_tables",
    "keep_known",
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


def create_people_tables(connection: Connection) -> None:
    """Make the tables of machines, rules, and who may see which session."""
    connection.execute(PEOPLE_TABLES)


# One table at a time from here on: servers of the version before go on writing, and take them in any order.
def add_delivery_origins(connection: Connection) -> None:
    """Let deliveries say which machine they come from."""
    connection.execute(DELIVERY_ORIGINS)


def add_change_audiences(connection: Connection) -> None:
    """Let entries of the feed say to whom they are told."""
    connection.execute(CHANGE_AUDIENCES)


def add_tombstone_persons(connection: Connection) -> None:
    """Let tombstones say whose the session was."""
    connection.execute(TOMBSTONE_PERSONS)


def add_mark_authors(connection: Connection) -> None:
    """Let marks say who made them."""
    connection.execute(MARK_AUTHORS)


def add_usage_audiences(connection: Connection) -> None:
    """Let groups of answers say for whom they count."""
    connection.execute(USAGE_AUDIENCES)


def add_series(connection: Connection) -> None:
    """Let sessions say which series they are of; a sync fills it."""
    connection.execute(SERIES_COLUMN)


MIGRATIONS: tuple[Migration, ...] = (
    create_tables,
    create_list_tables,
    create_usage_tables,
    create_search_tables,
    create_lease_table,
    create_people_tables,
    add_delivery_origins,
    add_change_audiences,
    add_tombstone_persons,
    add_mark_authors,
    add_usage_audiences,
    add_series,
)


ADDITIVE: frozenset[Migration] = frozenset({add_series})
"""Those that programs from before them can live with: what these write without knowing of them is right, and
what they read is what it was. A table that only new programs fill is such a step, or a column with a default;
what has to be kept true by whoever writes is not."""
_WRITERS = 4
"""The second half of the number of the advisory lock that all who write share."""


def check_known(connection: Connection, name: str) -> None:
    """Raise `NewerStoreError` if a step is recorded that this program does not know, and must."""
    _refuse_unknown(_list_applied(connection), name)


def keep_known(connection: Connection, name: str) -> None:
    """Make sure, before writing, that all steps are known, and stay so until the caller's transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", (LOCKS, _WRITERS))
    _refuse_unknown(_read_applied(connection), name)


def _refuse_unknown(applied: dict[str, bool], name: str) -> None:
    known = {migration.__name__ for migration in MIGRATIONS}
    unknown = sorted(step for step, is_additive in applied.items() if step not in known and not is_additive)
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
    """Do the steps that are missing, in their order, and make the views of those who do not see everything."""
    for migration in migrations if list_missing(connection) else ():
        with _transacting(connection, waits=migration not in ADDITIVE):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            # Another process may have done it while we waited for our turn.
            if migration.__name__ not in _list_applied(connection):
                _apply(connection, migration)
    if not list_missing(connection) and not are_views_current(connection):
        with _transacting(connection, waits=False):
            if not are_views_current(connection):
                make_views(connection)


def _apply(connection: Connection, migration: Migration) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_ns bigint NOT NULL)"
    )
    connection.execute(
        "ALTER TABLE migrations ADD COLUMN IF NOT EXISTS is_additive boolean NOT NULL DEFAULT false"
    )
    migration(connection)
    for month in list_months(connection):  # a table that is new has partitions as the others have
        make_month(connection, month)
    connection.execute(
        "INSERT INTO migrations VALUES (%s, %s, %s)",
        (migration.__name__, time.time_ns(), migration in ADDITIVE),
    )


@contextmanager
def _transacting(connection: Connection, *, waits: bool) -> Iterator[None]:
    with connection.transaction():
        if waits:
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, _WRITERS))
        lock_tables(connection)
        yield


def _list_applied(connection: Connection) -> dict[str, bool]:
    """Return the steps that were done, and whether they are recorded as additive."""
    [(found,)] = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.migrations",))
    if not found:
        return {}
    return _read_applied(connection)


def _read_applied(connection: Connection) -> dict[str, bool]:
    # Early databases have no such column.
    query = "SELECT name, coalesce(to_jsonb(migrations)->>'is_additive', '') = 'true' FROM migrations"
    return dict(connection.execute(query).fetchall())
