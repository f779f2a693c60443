"""Copies of a store in one file: made while others write, checked, and remembered.

A copy is of one state of everything. For a moment nobody writes: the tables are copied within the engine, which
takes no time, and the control database is read. Then others go on, and all of it is written to the file with
the bytes, which are not tidied away meanwhile. The file lies under another name until it is whole and was read
once, so there is never half of one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from turnlog.errors import StoreError
from turnlog.store.blobs.interface import Blobs
from turnlog.store.care import Backup
from turnlog.store.clickhouse.backup_file import BackupReader, BackupWriter, Head, verify_backup
from turnlog.store.clickhouse.blob_upkeep import hold_blobs
from turnlog.store.clickhouse.connection import Engine, quote
from turnlog.store.clickhouse.copying import COPIED, hold_copy
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.control.interface import Control
from turnlog.store.control.schema import CONTROL_TABLES
from turnlog.store.identity import Scope
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.portable.database import Execute, Row

__all__ = ["BackingUp", "OnProgress", "find_holding", "list_backups"]

OnProgress = Callable[[int, int], None]
_SOME = 20_000
_GROWING = {"changes": "seq", "marks": "id"}
"""Tables to which rows are only added, by what tells the newer ones."""
_NOT_COPIED = frozenset({"leases", "feed", *_GROWING})
_KEYS = """
SELECT id, owner, key FROM {database}.sessions FINAL
WHERE id > {{after:UInt128}} ORDER BY id LIMIT {{count:UInt32}}
"""
_HELD = "blobs held "
_SIDE_BY_SIDE = 64
_SMALL = 8 << 20
"""How many bytes of blobs are read side by side."""


class _Moment:
    """What the control database has at one moment."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self.rows = {name: self._read(name) for name in CONTROL_TABLES if name not in _NOT_COPIED}
        self._last = {name: self._find_last(name, column) for name, column in _GROWING.items()}
        self.steps = [name for (name,) in self._ask("SELECT name FROM @migrations WHERE is_additive = 0")]
        self.last_write = next(int(value) for name, value in self.rows["counters"] if name == "writes")

    def list_tables(self) -> Iterator[tuple[str, Iterable[Row]]]:
        """Yield all rows, by table; those that only grow are read when they are asked for."""
        yield from self.rows.items()
        for name, column in _GROWING.items():
            yield name, self._read_growing(name, column)

    def _read(self, name: str) -> list[Row]:
        rows = self._ask(f"SELECT {', '.join(CONTROL_TABLES[name])} FROM @{name}")
        return [row for row in rows if name != "facts" or not str(row[0]).startswith(_HELD)]

    def _read_growing(self, name: str, column: str) -> Iterator[Row]:
        columns = CONTROL_TABLES[name]
        after, at = -1, columns.index(column)
        where = f"{column} > ? AND {column} <= ? ORDER BY {column} LIMIT {_SOME}"
        query = f"SELECT {', '.join(columns)} FROM @{name} WHERE {where}"
        while rows := self._ask(query, (after, self._last[name])):
            yield from rows
            after = rows[-1][at]

    def _find_last(self, name: str, column: str) -> int:
        [(last,)] = self._ask(f"SELECT coalesce(max({column}), 0) FROM @{name}")
        return int(last)

    def _ask(self, query: str, values: tuple[object, ...] = ()) -> list[Row]:
        rows = self._control.read(lambda execute: execute(query, values))
        return [tuple(bytes(cell) if isinstance(cell, memoryview) else cell for cell in row) for row in rows]


class BackingUp(Connected):
    """What `ClickHouseStore` does to be copied."""

    def back_up(self, target: Path, *, force: bool = False, on_progress: OnProgress | None = None) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it.

        Raises `StoreError` if the file is there, unless by `force`.
        """
        self._engine.check_writable()
        target = Path(os.path.abspath(target))
        if target.exists() and not force:
            raise StoreError(f"{target} already exists; nothing was overwritten")
        new = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            with open(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                self._write_copy(file, on_progress)
                file.flush()
                os.fsync(file.fileno())
            verify_backup(new)
            os.replace(new, target)
            backup = Backup(os.fspath(target), time.time_ns(), target.stat().st_size)
        except OSError as error:
            raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
        finally:
            new.unlink(missing_ok=True)
        self.record_backup(backup)
        return backup

    def record_backup(self, backup: Backup) -> None:
        """Remember that a copy was made."""

        def record(execute: Execute) -> None:
            execute("DELETE FROM @backups WHERE path = ?", (pack_text(backup.path),))
            execute("INSERT INTO @backups VALUES (?, ?)", (pack_text(backup.path), backup.at_ns))

        self._control.write(record, is_repeatable=True)

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""
        return list_backups(self._control)

    def renew_epoch(self) -> None:
        """Give the feed another name: what was numbered before means nothing here."""
        self._control.renew_epoch()

    def _write_copy(self, file: Any, on_progress: OnProgress | None) -> None:
        with ExitStack() as held:
            held.enter_context(hold_blobs(self._control, time.time_ns()))
            with self._control.standstill():
                database = held.enter_context(hold_copy(self._engine))
                moment = _Moment(self._control)
            # What is read piece by piece needs a connection for itself.
            engine = held.enter_context(closing(self._engine.connect_again()))
            writer = BackupWriter(file, Head(time.time_ns(), moment.steps))
            progress = _Progress(writer, _measure(engine, database, self._blobs), on_progress)
            _write_rows(writer, engine, database, moment, progress)
            _write_blobs(writer, self._blobs, moment.last_write, progress)
            writer.close()
            progress.end()


class _Progress:
    """Tells how far a copy is; it is smaller than what it is of."""

    def __init__(self, writer: BackupWriter, size: int, tell: OnProgress | None) -> None:
        self._writer, self._size, self._tell = writer, size, tell

    def tell(self) -> None:
        if self._tell is not None:
            self._tell(min(self._writer.bytes, self._size), self._size)

    def end(self) -> None:
        if self._tell is not None:
            self._tell(self._size, self._size)


def list_backups(control: Control) -> list[Backup]:
    """Return the copies that were made, by time."""
    query = "SELECT path, at_ns FROM @backups ORDER BY at_ns, path"
    found = ((unpack_text(bytes(path)), at_ns) for path, at_ns in control.read(lambda execute: execute(query)))
    return [Backup(path, at_ns, _size_of(path)) for path, at_ns in found]


def find_holding(source: Path, scope: Scope, keys: Iterable[str]) -> set[str]:
    """Return which of some sessions a copy has; raises `StoreError` if it cannot be read."""
    reader = BackupReader(source)
    reader.read_head()
    wanted = {(pack_text(scope.owner), pack_text(key)): key for key in keys}
    rows = (tuple(row) for _, some in reader.read_rows("keys") for row in some)
    return {wanted[row] for row in rows if row in wanted}


def _write_rows(
    writer: BackupWriter, engine: Engine, database: str, moment: _Moment, progress: _Progress
) -> None:
    writer.add_rows("keys", _list_keys(engine, database))
    for name, rows in moment.list_tables():
        writer.add_rows(f"control/{name}", rows)
    for table in COPIED:
        statement = f"SELECT {', '.join(table.names)} FROM {quote(database)}.{table.name}"

        def follow(statement: str = statement) -> Iterator[bytes]:
            for piece in engine.read_raw(statement):
                yield piece
                progress.tell()

        writer.add_stream(f"tables/{table.name}", follow())


def _write_blobs(writer: BackupWriter, blobs: Blobs, last_write: int, progress: _Progress) -> None:
    """Write the bytes of writes up to one; those of sessions that are forgotten meanwhile are gone."""
    named = ((name, size) for name, size in blobs.list_under() if _was_written(name, last_write))
    for group in _group(named):
        try:
            found = blobs.get_many([(name, 0, min(size, _SMALL)) for name, size in group])
        except KeyError:
            found = [b""] * len(group)  # each is asked for by itself
        for (name, size), first in zip(group, found, strict=True):

            def read(start: int, length: int, name: str = name, first: bytes = first) -> bytes:
                if start + length <= len(first):
                    return first[start : start + length]
                return blobs.get(name, start, length)

            with suppress(KeyError):
                writer.add_blob(name, size, read)
        progress.tell()


def _group(named: Iterable[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    """Yield names and sizes, as many as are read side by side."""
    group: list[tuple[str, int]] = []
    size = 0
    for each in named:
        if group and (len(group) == _SIDE_BY_SIDE or size + each[1] > _SMALL):
            yield group
            group, size = [], 0
        group.append(each)
        size += each[1]
    if group:
        yield group


def _was_written(name: str, last_write: int) -> bool:
    write = name.rpartition("/")[2]
    return not write.isdecimal() or int(write) <= last_write


def _list_keys(engine: Engine, database: str) -> Iterator[Row]:
    after = 0
    query = _KEYS.format(database=quote(database))
    while rows := engine.query(query, {"after": after, "count": _SOME}):
        yield from ((owner, key) for _, owner, key in rows)
        after = rows[-1][0]


def _measure(engine: Engine, database: str, blobs: Blobs) -> int:
    query = "SELECT sum(bytes_on_disk) FROM system.parts WHERE database = {database:String} AND active"
    [(size,)] = engine.query(query, {"database": database})
    return int(size) + sum(size for _, size in blobs.list_under())


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
