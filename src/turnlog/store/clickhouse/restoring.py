"""Putting a backup in the place of a store.

The tables of the backup are loaded into a database of their own first. Then that takes the name of the store's,
whose tables are kept under another name; so are the control database and a folder of bytes that were there.
Bytes in a bucket stay where they are, and those that are missing are added. What the store must not forget is
in `turnlog.store.remembering`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from turnlog.errors import NewerStoreError, StoreError
from turnlog.store.blobs.folder import FolderBlobs
from turnlog.store.blobs.interface import Blobs
from turnlog.store.blobs.opening import open_blobs
from turnlog.store.care import Restored
from turnlog.store.clickhouse.backup_file import BackupReader, verify_backup
from turnlog.store.clickhouse.blob_claims import find_claim, put_claim
from turnlog.store.clickhouse.connection import Engine, quote
from turnlog.store.clickhouse.copying import COPIED, find_database
from turnlog.store.clickhouse.opening import STEPS, ForeignControlError, open_beside
from turnlog.store.clickhouse.remembering import read_memory
from turnlog.store.clickhouse.schema import VIEWS
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.clickhouse.tables import create_table, create_view
from turnlog.store.control.interface import Control
from turnlog.store.control.moving import check_alone, is_there, put_aside, put_back
from turnlog.store.control.schema import CONTROL_TABLES
from turnlog.store.places import ServerPlace, control_of
from turnlog.store.portable.database import Execute
from turnlog.store.remembering import Memory, carry_over

__all__ = ["check_backup", "restore_store"]

_AT_ONCE = 200
_SIDE_BY_SIDE = 16
_HELD = 32 << 20
"""How many bytes are written side by side."""
_OWN_FACTS = frozenset({"store"})
"""What a control database says of itself."""
_HAS_TABLES = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'sessions'"


class _Names(Struct, frozen=True):
    """What databases are called."""

    database: str
    has_tables: bool
    at_ns: int

    @property
    def suffix(self) -> str:
        """What stands behind the names of what was there before."""
        return f"_before_restore_{time.strftime('%Y%m%d_%H%M%S', time.gmtime(self.at_ns // 1_000_000_000))}"

    @property
    def kept(self) -> str:
        """The database that was there before."""
        return self.database + self.suffix

    @property
    def loaded(self) -> str:
        """The database that is loaded."""
        return f"{self.database}_restoring_{self.at_ns}"


def check_backup(source: Path) -> None:
    """Raise `StoreError` for a file that is no backup of a store, a damaged one, or one of a newer version."""
    head = BackupReader(source).read_head()
    unknown = sorted(set(head.steps).difference(STEPS))
    if unknown:
        raise NewerStoreError(f"{source} was made by a newer version of turnlog (it has {', '.join(unknown)})")
    verify_backup(source)


def restore_store(place: ServerPlace, source: Path) -> Restored:
    """Put a backup in the place of a store, which is kept beside it; raises `StoreError`.

    Nothing is changed while another process has the store open.
    """
    check_backup(source)
    check_alone(control_of(place))
    with closing(Engine(place.address)) as engine:
        if engine.cluster is not None:
            raise StoreError(
                f"The store {engine.name} is on a cluster, which restores its own copies (RESTORE)"
            )
        names = _Names(find_database(engine), bool(engine.query(_HAS_TABLES)[0][0]), time.time_ns())
    with ExitStack() as held, ExitStack() as undo:
        engine = held.enter_context(closing(Engine(place.address, database=names.loaded)))
        _load(engine, place, source, names.loaded, undo)
        memory, last_write = _remember(place) if names.has_tables else (Memory(), 0)
        _swap(engine, place, names, undo)
        _fill_control(place, source, last_write, undo)
        with closing(_open(place)) as store:
            forgotten = carry_over(store, memory)
        undo.pop_all()
    return Restored(names.kept if names.has_tables else None, forgotten)


def _open(place: ServerPlace) -> ClickHouseStore:
    return ClickHouseStore.open(
        place.address,
        control=control_of(place),
        blobs=place.bytes_address,
        retention_days=place.retention_days,
    )


def _remember(place: ServerPlace) -> tuple[Memory, int]:
    """Return what the present store must not forget, and its last write.

    Without its control database, which may be lost, nobody knows the former.
    """
    with closing(Engine(place.address)) as engine:
        [(last,)] = engine.query("SELECT max(write) FROM sessions")
    if not is_there(control_of(place)):
        return Memory(), int(last)
    try:
        store = _open(place)
    except ForeignControlError:  # it was made when the right one was lost
        return Memory(), int(last)
    with closing(store):
        query = "SELECT value FROM @counters WHERE name = 'writes'"
        [(given,)] = store._control.read(lambda execute: execute(query))
        return read_memory(store), max(int(last), int(given))


def _load(engine: Engine, place: ServerPlace, source: Path, database: str, undo: ExitStack) -> None:
    """Load the tables into a database of their own, and bytes beside those that there are."""
    undo.callback(engine.command, f"DROP DATABASE IF EXISTS {quote(database)} SYNC")
    tables = {table.name: table for table in COPIED}
    for table in COPIED:
        engine.command(create_table(table, place.retention_days))
    # Views are not there yet: what they wrote is in the copy.
    for name, pieces in BackupReader(source).read_streams("tables/"):
        if name in tables:
            engine.insert_raw(name, tables[name].names, pieces)
    with closing(open_blobs(_name_bytes(place, database))) as blobs:
        if isinstance(blobs, FolderBlobs):
            undo.callback(_remove, Path(blobs.address))
        there = dict(blobs.list_under())
        found = BackupReader(source).read_blobs()
        _put_all(blobs, ((name, data) for name, data in found if there.get(name) != len(data)))


def _put_all(blobs: Blobs, found: Iterator[tuple[str, bytes]]) -> None:
    """Write bytes side by side, as much of it as fits into little memory."""
    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="turnlog-restore") as pool:
        going: list[Future[None]] = []
        size = 0
        for name, data in found:
            if len(going) == _SIDE_BY_SIDE or size + len(data) > _HELD:
                for each in going:
                    each.result()
                going, size = [], 0
            going.append(pool.submit(blobs.put, name, data))
            size += len(data)
        for each in going:
            each.result()


def _swap(engine: Engine, place: ServerPlace, names: _Names, undo: ExitStack) -> None:
    """Give what was loaded the names of what is there, which gets others."""
    here, there, kept = quote(names.database), quote(names.loaded), quote(names.kept)
    if names.has_tables:
        undo.callback(_create_views, place, names.database)
        _drop_views(engine, names.database)
        engine.command(f"RENAME DATABASE {here} TO {kept}")
        undo.callback(engine.command, f"RENAME DATABASE {kept} TO {here}")
    else:
        engine.command(f"DROP DATABASE {here} SYNC")
    engine.command(f"RENAME DATABASE {there} TO {here}")
    undo.callback(engine.command, f"DROP DATABASE {here} SYNC")
    undo.callback(_drop_views, engine, names.database)
    control = control_of(place)
    if is_there(control):
        put_aside(control, names.suffix)
        undo.callback(put_back, control, names.suffix)
    if "://" not in place.bytes_address:
        folder, new = (
            Path(each).expanduser() for each in (place.bytes_address, _name_bytes(place, names.loaded))
        )
        _swap_folder(folder, new, names.suffix, undo)


def _swap_folder(folder: Path, new: Path, suffix: str, undo: ExitStack) -> None:
    if folder.exists():
        kept = folder.with_name(folder.name + suffix)
        os.replace(folder, kept)
        undo.callback(os.replace, kept, folder)
    if new.exists():
        os.replace(new, folder)
        undo.callback(os.replace, folder, new)


def _fill_control(place: ServerPlace, source: Path, last_write: int, undo: ExitStack) -> None:
    """Make a control database, and views, and write what the backup has of it; the bytes are its own then."""
    with closing(Engine(place.address)) as engine:
        control = open_beside(engine, control_of(place), place.retention_days)
        with closing(control):
            for name, rows in BackupReader(source).read_rows("control/"):
                if name in CONTROL_TABLES:
                    _fill(control, name, rows)
            # Numbers of writes are in the names of bytes that are kept: none is given twice.
            statement = "UPDATE @counters SET value = ? WHERE name = 'writes' AND value < ?"
            control.write(lambda execute: execute(statement, (last_write, last_write)))
            undo.callback(_claim_bytes, place, _claim_bytes(place, control.find_store().encode()))


def _claim_bytes(place: ServerPlace, store: bytes | None) -> bytes | None:
    """Say whose bytes these are from now on, and return whose they were."""
    with closing(open_blobs(place.bytes_address)) as blobs:
        former = find_claim(blobs)
        put_claim(blobs, store)
        return former


def _fill(control: Control, name: str, rows: Iterator[Any]) -> None:
    columns = [column for column in CONTROL_TABLES[name] if (name, column) != ("marks", "id")]
    taken = [CONTROL_TABLES[name].index(column) for column in columns]
    spelled = f"INSERT INTO @{name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    while some := [row for row, _ in zip(rows, range(_AT_ONCE), strict=False)]:
        kept = [[row[at] for at in taken] for row in some if name != "facts" or row[0] not in _OWN_FACTS]

        def write(execute: Execute, kept: list[list[Any]] = kept) -> None:
            for cells in kept:
                if name in ("counters", "facts"):
                    execute(f"DELETE FROM @{name} WHERE name = ?", cells[:1])
                execute(spelled, cells)

        control.write(write)


def _drop_views(engine: Engine, database: str) -> None:
    """Drop views, which would write to the tables of whichever database has the name."""
    for view in VIEWS:
        engine.command(f"DROP VIEW IF EXISTS {quote(database)}.{view.name} SYNC")


def _create_views(place: ServerPlace, database: str) -> None:
    with closing(Engine(place.address, database=database)) as engine:
        for view in VIEWS:
            engine.command(create_view(view))


def _name_bytes(place: ServerPlace, database: str) -> str:
    """Return where bytes are loaded to: in a bucket, to where they belong."""
    address = place.bytes_address
    return address if "://" in address else f"{address}.{database.rpartition('_')[2]}.new"


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        with suppress(OSError):
            (path.rmdir if path.is_dir() else path.unlink)()
    with suppress(OSError):
        folder.rmdir()
