"""The steps that lead from an empty file to the tables of today.

Each step is a function with a name, done in a transaction together with the row that records it. A file in
which a step is recorded that we don't know was made by a newer program: it is refused, and not touched; unless
the step is recorded as one that only adds what older programs need not know of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from turnlog.errors import NewerStoreError, OlderStoreError, StoreError
from turnlog.store.sqlite.connection import (
    APPLICATION_ID,
    Options,
    open_to_read,
    open_to_write,
    translate,
    writing,
)
from turnlog.store.sqlite.hooks import RECENT_HOOKS, find_calls_of_hooks, index_deliveries
from turnlog.store.sqlite.schema import (
    BACKUP_TABLE,
    CHANGES,
    CHAPTER_TABLES,
    DROP_SEARCH_TABLES,
    FEED_TABLE,
    FIRST_TABLES,
    HOOK_CALLS,
    HOOK_TABLES,
    LIST_TABLES,
    LISTED_COLUMNS,
    MARK_TABLE,
    NEW_ANSWERS,
    NEWEST_BYTES,
    PARENT_INDEX,
    PEOPLE_TABLES,
    SEARCH_TABLES,
    SERIES_COLUMN,
    SHARED_ANSWERS,
    TIMELINE_COLUMNS,
    USAGE_TABLES,
    USAGE_VERSIONS,
    WINDOW_INDEXES,
)
from turnlog.store.sqlite.segments import SEGMENT_TABLES

Migration = Callable[[apsw.Connection], None]
"""A step; its name is what is recorded, so neither the name nor the step changes once it is released."""


def create_tables(connection: apsw.Connection) -> None:
    """Make the tables of files, lines, derived rows and changes."""
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(FIRST_TABLES)


def create_hook_tables(connection: apsw.Connection) -> None:
    """Make the table of hook deliveries, and spec 002's view of it."""
    connection.execute(HOOK_TABLES)


def create_backup_table(connection: apsw.Connection) -> None:
    """Make the table of backups."""
    connection.execute(BACKUP_TABLE)


def group_by_chapter(connection: apsw.Connection) -> None:
    """Drop what was derived of sessions, and make tables that group it by chapter; a sync fills them."""
    connection.execute(CHAPTER_TABLES)


def create_mark_table(connection: apsw.Connection) -> None:
    """Make the table of marks."""
    connection.execute(MARK_TABLE)


def index_windows(connection: apsw.Connection) -> None:
    """Add what windows of a conversation are found by."""
    connection.execute(WINDOW_INDEXES)


def prepare_lists(connection: apsw.Connection) -> None:
    """Add what lists are filtered and ordered by; a sync fills it."""
    connection.execute(LIST_TABLES)


def create_usage_tables(connection: apsw.Connection) -> None:
    """Make the tables of usage; whoever opens the file for writing next counts what there is."""
    connection.execute(USAGE_TABLES)


def create_search_tables(connection: apsw.Connection) -> None:
    """Make the tables of search, with what hooks delivered so far; a sync fills in the rest."""
    connection.execute(SEARCH_TABLES)
    index_deliveries(connection)


def name_feed(connection: apsw.Connection) -> None:
    """Give the feed a name, by which numbers of another feed are told from its own."""
    connection.execute(FEED_TABLE)


def link_hooks_to_calls(connection: apsw.Connection) -> None:
    """Add to hook deliveries which call and which sub-agent they are about."""
    connection.execute(HOOK_CALLS)
    find_calls_of_hooks(connection)


def index_recent_hooks(connection: apsw.Connection) -> None:
    """Add what tells which sessions hooks told of lately."""
    connection.execute(RECENT_HOOKS)


def order_timeline(connection: apsw.Connection) -> None:
    """Add what messages, calls, events and hooks are put in one order by; a sync fills it."""
    connection.execute(TIMELINE_COLUMNS)


def count_usage_versions(connection: apsw.Connection) -> None:
    """Add what tells that answers of a session cost something else by now."""
    connection.execute(USAGE_VERSIONS)


def shorten_parents(connection: apsw.Connection) -> None:
    """Index lines by the end of what they follow: that takes a third less."""
    connection.execute(PARENT_INDEX)


def separate_people(connection: apsw.Connection) -> None:
    """Add whose sessions are whose, and who else may see them; nobody's and private at first."""
    connection.execute(PEOPLE_TABLES)


def add_series(connection: apsw.Connection) -> None:
    """Let sessions say which series they are of; a sync fills it."""
    connection.execute(SERIES_COLUMN)


def keep_segments(connection: apsw.Connection) -> None:
    """Drop the rows that were derived of sessions, and make tables of segments; a sync fills them."""
    connection.execute(_DROP_ROWS)
    connection.execute(SEGMENT_TABLES)
    connection.execute(SHARED_ANSWERS)
    connection.execute(LISTED_COLUMNS)
    connection.execute("UPDATE sessions SET derivation = 0")


def shorten_appends(connection: apsw.Connection) -> None:
    """Make tables anew of which a line that is appended changes fewer pages; a sync fills them."""
    connection.execute("DROP TABLE segments; DROP TABLE IF EXISTS segment_data; DROP TABLE outlines")
    connection.execute(SEGMENT_TABLES)
    connection.execute(CHANGES)
    connection.execute(NEW_ANSWERS)
    connection.execute(NEWEST_BYTES)
    connection.execute(DROP_SEARCH_TABLES)
    create_search_tables(connection)
    connection.execute("UPDATE sessions SET derivation = 0")


_DROP_ROWS = """
DROP TABLE digests;
DROP TABLE lines;
DROP TABLE messages;
DROP TABLE calls;
DROP TABLE placements;
DROP TABLE turns;
DROP TABLE agents;
DROP TABLE sightings;
"""

MIGRATIONS: tuple[Migration, ...] = (
    create_tables,
    create_hook_tables,
    create_backup_table,
    group_by_chapter,
    create_mark_table,
    prepare_lists,
    index_windows,
    create_usage_tables,
    create_search_tables,
    name_feed,
    link_hooks_to_calls,
    index_recent_hooks,
    order_timeline,
    count_usage_versions,
    shorten_parents,
    separate_people,
    add_series,
    keep_segments,
    shorten_appends,
)


ADDITIVE: frozenset[Migration] = frozenset({add_series})
"""Those that programs from before them can live with: what these write without knowing of them is right, and
what they read is what it was."""


def check_known(connection: apsw.Connection, path: Path) -> None:
    """Raise `NewerStoreError` if a step is recorded that this program does not know, and must."""
    known = {migration.__name__ for migration in MIGRATIONS}
    applied = _list_applied(connection)
    unknown = sorted(step for step, is_additive in applied.items() if step not in known and not is_additive)
    if unknown:
        raise NewerStoreError(
            f"The store {path} was made by a newer version of turnlog (it has {', '.join(unknown)}); "
            "it was not touched"
        )


def list_missing(connection: apsw.Connection) -> list[str]:
    """Return the names of the steps that are still to be done."""
    applied = _list_applied(connection)
    return [migration.__name__ for migration in MIGRATIONS if migration.__name__ not in applied]


def migrate(connection: apsw.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Do the steps that are missing, in their order."""
    for migration in migrations:
        if migration.__name__ not in _list_applied(connection):
            with writing(connection):
                _apply(connection, migration)


def _apply(connection: apsw.Connection, migration: Migration) -> None:
    # Another process may have done it while we waited for our turn.
    if migration.__name__ in _list_applied(connection):
        return
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_ns INTEGER NOT NULL)"
    )
    if "is_additive" not in {row[1] for row in connection.execute("PRAGMA table_info(migrations)")}:
        connection.execute("ALTER TABLE migrations ADD COLUMN is_additive INTEGER NOT NULL DEFAULT 0")
    migration(connection)
    connection.execute(
        "INSERT INTO migrations VALUES (?, ?, ?)",
        (migration.__name__, time.time_ns(), migration in ADDITIVE),
    )


def _list_applied(connection: apsw.Connection) -> dict[str, bool]:
    """Return the steps that were done, and whether they are recorded as additive."""
    # Asked of the file: `table_exists` knows only what this connection has seen of it.
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").fetchall():
        return {}
    # Early files have no such column.
    rows = connection.execute("SELECT * FROM migrations")
    return {name: any(is_additive) for name, _, *is_additive in rows}


def check_current(path: Path, options: Options) -> None:
    """Raise `StoreError` if a database cannot be read: it is missing, or newer or older (`OlderStoreError`)."""
    if _look(path, options):
        raise OlderStoreError(f"The store {path} has an older version; `turnlog sync` updates it")


def open_migrated(path: Path, options: Options) -> apsw.Connection:
    """Open a database for writing, and bring its tables up to date; raises `StoreError`."""
    if path.is_file():
        # Opening for writing changes a file, and one of a newer program must stay as it is.
        _look(path, options)
    connection = open_to_write(path, options)
    try:
        with translate(path):
            check_known(connection, path)
            migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _look(path: Path, options: Options) -> list[str]:
    """Return the migrations that are missing, without leaving a trace; raises `NewerStoreError`."""
    try:
        return _list_missing(path, options, traceless=True)
    except NewerStoreError:
        raise
    except StoreError:
        # Others may be writing just now: then there is a log, or will be, and a usual reader is safe.
        return _list_missing(path, options, traceless=False)


def _list_missing(path: Path, options: Options, *, traceless: bool) -> list[str]:
    connection = open_to_read(path, options, traceless=traceless)
    try:
        with translate(path):
            check_known(connection, path)
            return list_missing(connection)
    finally:
        connection.close()
