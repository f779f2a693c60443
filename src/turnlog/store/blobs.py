"""Blobs: bytes under names in a folder or a bucket, where a database is too dear a place for them.

A blob is named by its content, a digest of the bytes as they lie there, and by a number that no other blob has.
So it is written once and never again, a reader can tell damage, and whoever deletes it, however late that
arrives, cannot meet one that somebody wrote anew. What refers to it has its name where else the bytes
themselves are (`turnlog.store.frames`).
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from turnlog.errors import StoreError
from turnlog.store.frames import have_same, is_name
from turnlog.store.model import BlobPlace

_AT_ONCE = 16
"""How many are read or written side by side: most of the time is waiting for the bucket."""
_TRIES = 3
_KEPT_BYTES = 64 << 20
"""Of blobs that were read lately, for searches, which look at the same files again and again."""

Given = TypeVar("Given")
Made = TypeVar("Made")


class Blobs(Protocol):
    """A folder or a bucket. Several threads may use it; raises `StoreError`."""

    def put(self, name: str, data: bytes) -> None:
        """Write bytes under a name, all or nothing; when this returns, they outlast a loss of power."""

    def get(self, name: str) -> bytes:
        """Return the bytes under a name; raises `KeyError`."""

    def delete(self, names: Sequence[str]) -> None:
        """Delete what has these names, as far as it is there."""


def open_blobs(place: BlobPlace) -> Blobs:
    """Return what keeps bytes at a place; raises `StoreError` if it is none, or its library is missing."""
    if place.address.startswith("s3://"):
        try:
            # Loaded when it is asked for: its library is optional.
            blobs: Blobs = import_module("turnlog.store.s3_blobs").S3Blobs(place)
        except ModuleNotFoundError as error:
            raise StoreError(
                f"{place} needs {error.name}, which is not installed: pip install 'turnlog[s3]'"
            ) from error
        return blobs
    parts = urlsplit(place.address)
    path = unquote(parts.path) if parts.scheme == "file" else place.address
    return FolderBlobs(Path(path).expanduser().absolute())


class FolderBlobs:
    """A folder, which only its owner may look into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, name: str, data: bytes) -> None:
        """Write a file, which appears as a whole."""
        for left in reversed(range(_TRIES)):
            try:
                _write_file(*self._find(name), data)
                return
            except OSError as error:
                # Who deletes what took too long may take the file away while it is written.
                if not left or not isinstance(error, FileNotFoundError):
                    raise self._refuse(error) from error

    def get(self, name: str) -> bytes:
        """Return the bytes of a file; raises `KeyError`."""
        try:
            return self._find(name)[0].read_bytes()
        except FileNotFoundError:
            raise KeyError(name) from None
        except OSError as error:
            raise self._refuse(error) from error

    def delete(self, names: Sequence[str]) -> None:
        """Delete files, those of writers that died included."""
        try:
            for path in (path for name in names for path in self._find(name)):
                with suppress(FileNotFoundError, NotADirectoryError):
                    path.unlink()
        except OSError as error:
            raise self._refuse(error) from error

    def _find(self, name: str) -> tuple[Path, Path]:
        """Return where a file is, and where it is until it is whole; folders of a million files are slow."""
        kind, _, rest = name.partition("/")
        folder = self._folder / kind / rest[:2]
        return folder / rest, folder / f".{rest}"

    def _refuse(self, error: OSError) -> StoreError:
        return StoreError(f"The blobs in {self._folder} cannot be read or written ({error.strerror or error})")


def _write_file(path: Path, hidden: Path, data: bytes) -> None:
    _make_folder(path.parent)
    file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
    with open(file, "wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(file)
    os.replace(hidden, path)
    _flush_folder(path.parent)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        _flush_folder(folder.parent)


def _flush_folder(folder: Path) -> None:
    """Return when it is on the disk which files a folder has."""
    if os.name == "nt":  # folders cannot be flushed there
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class BlobReader:
    """Reads what cells name, several side by side, and keeps what was read lately."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="turnlog-blobs")
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def load(self, cells: Sequence[bytes]) -> list[bytes | ValueError]:
        """Return what each cell has, itself or in the blob that it names; what is damaged as an error."""
        found: dict[bytes, bytes | ValueError] = {cell: cell for cell in cells if not is_name(cell)}
        with self._lock:
            for name in set(cells).intersection(self._kept):
                found[name] = self._kept[name]
                self._kept.move_to_end(name)
        missing = [*dict.fromkeys(cell for cell in cells if cell not in found)]
        for name, data in zip(missing, self.do_all(self._get, missing), strict=True):
            found[name] = data
            if isinstance(data, bytes):
                self._keep(name, data)
        return [found[cell] for cell in cells]

    def do_all(self, work: Callable[[Given], Made], given: Iterable[Given]) -> list[Made]:
        """Do something for each of several, side by side; raises what the first raises that fails."""
        several = [*given]
        if len(several) <= 1:
            return [work(each) for each in several]
        try:
            futures = [self._pool.submit(work, each) for each in several]
        except RuntimeError:
            raise StoreError("The store is closed") from None
        return [future.result() for future in futures]

    def close(self) -> None:
        """End the threads; again does nothing."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _get(self, cell: bytes) -> bytes | ValueError:
        name = cell.decode()
        try:
            data = self.blobs.get(name)
        except KeyError:
            return ValueError(f"The blob {name} is missing")
        if not have_same(cell, data):
            return ValueError(f"The blob {name} is damaged")
        return data

    def _keep(self, name: bytes, data: bytes) -> None:
        with self._lock:
            self._size += len(data) - len(self._kept.pop(name, b""))
            self._kept[name] = data
            while self._size > _KEPT_BYTES:
                self._size -= len(self._kept.popitem(last=False)[1])
