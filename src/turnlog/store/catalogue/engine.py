"""What is done to a store as a whole: by its engine, to copies of it, and to see whether it agrees with itself.

What was forgotten since a copy was made is forgotten in it, too, when it is put in the place of the store, and
the list of copies goes on. So does what was said about people: whose the machines are, the rules, and which
sessions are shared. Else what was made private since then would be shared again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from turnlog.store.catalogue.database import Connection, Database, OnProgress, pack_text, unpack_text
from turnlog.store.catalogue.deletion import add_tombstone, list_tombstones
from turnlog.store.catalogue.feed import Lease, renew_epoch
from turnlog.store.catalogue.people import list_access, list_machines, list_misjudged, list_rules
from turnlog.store.catalogue.usage import SumCells
from turnlog.store.interface import (
    Backup,
    ChangeListener,
    Flaw,
    Forgotten,
    MaintainedStore,
    Restored,
    Tombstone,
)
from turnlog.store.model import LOCAL, Machine, ProjectRule, Scope, SessionAccess, StorePlace, Visibility
from turnlog.store.search.index import TextIndex
from turnlog.transcripts.segments import SEGMENT


class RemoteIndex(Protocol):
    """An index outside the database; raises `LostStoreError` if it cannot be reached."""

    def fill(self, connection: Connection) -> bool:
        """Send a piece of what it has yet to learn; return whether there was any."""

    def check_reachable(self, connection: Connection) -> None:
        """Raise `StoreError` if it cannot be asked, or is of another archive."""

    def refill(self, connection: Connection, *, anew: bool) -> None:
        """Have everything sent that there is; `anew` empties it before that, whatever is in it."""


class Engine(Protocol):
    """One store's engine."""

    @property
    def database(self) -> Any:
        """The `Database`, with `rows_changed`, how many rows were written through it."""

    @property
    def index(self) -> TextIndex:
        """What is searched."""

    @property
    def blobs(self) -> Any:
        """The `BlobKeeper`; None if the tables have everything."""

    @property
    def sum_cells(self) -> SumCells:
        """What adds up answers."""

    @property
    def note_usage(self) -> Callable[[Connection, Iterable[int]], object] | None:
        """What is told of sessions whose usage has changed, within the transaction; None if nobody is."""

    @property
    def remote(self) -> RemoteIndex | None:
        """The index, if it is elsewhere."""

    def listen(self) -> ChangeListener | None:
        """Return what tells of changes whoever writes them; None where one has to look for them."""

    def flush(self) -> None:
        """Make what was committed outlast a loss of power."""

    def settle(self, *, is_new: bool) -> None:
        """Put files in order behind the index, of which much may be new."""

    def purge(self) -> bool:
        """Remove what was deleted from the engine's files; False if they are in use just now."""

    def forget(self, work: Callable[[], Forgotten]) -> Forgotten:
        """Do what deletes, so that nothing of it is left in the engine's files, and say whether that is so."""

    def list_flaws(self) -> list[Flaw]:
        """Return what the engine itself finds wrong."""

    def check_quickly(self) -> list[str]:
        """Return what is wrong at a glance."""

    def measure(self) -> int:
        """Return how many bytes the store takes."""

    def back_up(self, target: Path, *, force: bool, on_progress: OnProgress | None) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it."""

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""

    def check_backup(self, source: Path) -> None:
        """Raise `StoreError` for a file that is no sound copy."""

    def restore(self, source: Path) -> Restored:
        """Put a copy in the place of the store, which is kept as it was; raises `StoreError`."""

    def open_lease(self, name: str, seconds: float) -> Lease:
        """Return the right to write, which is yet to be taken."""


class Upgrade(Protocol):
    """Making an archive of an earlier version one of today's, in another place until it is done."""

    @property
    def place(self) -> StorePlace:
        """Where the archive of today is meanwhile."""

    def measure(self) -> tuple[int, int]:
        """Return how many sessions there are, and how many bytes they take."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep programs of the earlier version from writing; raises `StoreError`."""

    def copy(self, on_progress: OnProgress | None = None) -> None:
        """Copy all that only the archive knows; what was copied before is there already."""

    def check(self) -> None:
        """Raise `StoreError` unless all is there that has to be."""

    def finish(self, *, keep: bool) -> str | None:
        """Put the archive of today in its place; return where the former one is, if it is kept."""


def record_backup(connection: Connection, backup: Backup) -> None:
    """Remember that a copy was made, in the transaction of the caller."""
    connection.execute(
        "INSERT INTO backups VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET at_ns = excluded.at_ns",
        (pack_text(backup.path), backup.at_ns),
    )


def list_backups(connection: Connection) -> list[Backup]:
    """Return the copies that were made, by time."""
    rows = connection.execute("SELECT path, at_ns FROM backups ORDER BY at_ns, path")
    return [Backup(unpack_text(path), at_ns, _size_of(unpack_text(path))) for path, at_ns in rows]


class CarriedState(Struct, frozen=True):
    """What a store must not forget."""

    tombstones: Sequence[Tombstone] = ()
    backups: Sequence[Backup] = ()
    machines: Sequence[Machine] = ()
    rules: Sequence[ProjectRule] | None = None
    """None if the store could not be read."""
    access: Sequence[SessionAccess] = ()


def read_carried_state(connection: Connection) -> CarriedState:
    """Return what the present store must not forget."""
    return CarriedState(
        list_tombstones(connection, LOCAL),
        list_backups(connection),
        list_machines(connection, LOCAL),
        list_rules(connection, LOCAL),
        list_access(connection, LOCAL),
    )


def carry_over(database: Database, store: MaintainedStore, carried: CarriedState) -> int:
    """Bring a copy up to what is remembered; return how many of its sessions are forgotten by that."""
    forgotten = store.forget(LOCAL, [each.key for each in carried.tombstones]).sessions

    def remember(connection: Connection) -> None:
        for tombstone in carried.tombstones:
            add_tombstone(connection, LOCAL, tombstone)
        for backup in carried.backups:
            record_backup(connection, backup)
        renew_epoch(connection)

    database.write(remember)
    if carried.rules is not None:
        _carry_people_over(store, carried, carried.rules)
    return forgotten


def _carry_people_over(store: MaintainedStore, carried: CarriedState, rules: Sequence[ProjectRule]) -> None:
    for machine in carried.machines:
        store.save_machine(LOCAL, machine.origin, host=machine.host, user=machine.user, at_ns=machine.last_ns)
        store.save_machine(LOCAL, machine.origin, person=machine.person, reassign=True)
    for former in store.list_rules(LOCAL):
        if former not in rules:
            store.set_rule(LOCAL, former.pattern, None)
    for rule in rules:
        store.set_rule(LOCAL, rule.pattern, rule.visibility)
    for chosen in (None, *Visibility):
        store.set_visibility(LOCAL, [each.key for each in carried.access if each.chosen is chosen], chosen)


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return None


# What belongs to a session that is there can be told by its key.
_SOURCES = {
    "a file belongs to no session": "e.id IS NULL",
    "a file has no generation": "NOT EXISTS (SELECT 1 FROM generations WHERE source = s.id AND id = s.newest)",
}
_LONE = (
    "SELECT key FROM sessions AS e WHERE owner = ? AND NOT EXISTS (SELECT 1 FROM sources WHERE session = e.id)"
)
_ORPHANS = (
    ("bytes belong to no file", "frames", "generation", "generations"),
    ("bytes belong to no file", "tail_frames", "generation", "generations"),
    ("generations belong to no file", "generations", "source", "sources"),
    ("segments belong to no file", "segments", "source", "sources"),
    ("segments belong to no file", "segment_data", "source", "sources"),
    ("rows belong to no session", "outlines", "session", "sessions"),
    ("rows belong to no session", "summaries", "session", "sessions"),
)
_BROKEN = f"""
SELECT e.key FROM (
    SELECT source FROM (
        SELECT source, number, lines, message, messages, call, calls,
            lag(number, 1, CAST(-1 AS bigint)) OVER file AS before,
            lag(lines, 1, CAST({SEGMENT} AS bigint)) OVER file AS lines_before,
            lag(message + messages, 1, CAST(0 AS bigint)) OVER file AS message_before,
            lag(call + calls, 1, CAST(0 AS bigint)) OVER file AS call_before
        FROM segments WINDOW file AS (PARTITION BY source ORDER BY number)
    ) AS steps
    WHERE number <> before + 1 OR lines_before <> {SEGMENT} OR message <> message_before OR call <> call_before
    GROUP BY source
) AS b JOIN sources AS s ON s.id = b.source JOIN sessions AS e ON e.id = s.session
WHERE s.owner = ? GROUP BY e.key ORDER BY e.key
"""
"""Sessions with a file whose segments do not follow on each other."""


def list_flaws(connection: Connection, scope: Scope) -> list[Flaw]:
    """Return what contradicts itself, as far as one owner's data and the tables are concerned."""
    found = [*_list_lost(connection, scope)]
    broken = connection.execute(_BROKEN, (scope.owner,))
    found += [Flaw(key, "segments of a file do not follow on each other", True) for (key,) in broken]
    message = "its access does not match its machine's owner and the rules"
    return [*found, *(Flaw(key, message, True) for key in list_misjudged(connection, scope))]


def _list_lost(connection: Connection, scope: Scope) -> Iterator[Flaw]:
    for what, when in _SOURCES.items():
        query = f"""
        SELECT e.key FROM sources AS s LEFT JOIN sessions AS e ON e.id = s.session WHERE s.owner = ? AND {when}
        """
        yield from (Flaw(key, what) for (key,) in connection.execute(query, (scope.owner,)))
    yield from (Flaw(key, "a session has no files") for (key,) in connection.execute(_LONE, (scope.owner,)))
    for what, table, column, owner in _ORPHANS:
        query = f"SELECT 1 FROM {table} WHERE {column} NOT IN (SELECT id FROM {owner}) LIMIT 1"
        if connection.execute(query):
            yield Flaw(None, f"{what} ({table})")
