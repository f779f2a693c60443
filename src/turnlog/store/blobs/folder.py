"""Bytes in files of a folder, which only its owner may read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from turnlog.errors import StoreError
from turnlog.store.blobs.interface import check_name, check_prefix
from turnlog.store.durable_files import HIDDEN, flush_folder, write_safely

__all__ = ["FolderBlobs"]

_TRIES = 10
"""How often a file is written whose folder is taken away meanwhile, as an empty one."""


class FolderBlobs:
    """A folder of blobs, made when there is something to keep."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def address(self) -> str:
        """The folder."""
        return str(self._folder)

    def put(self, name: str, data: bytes) -> None:
        """Write a file, which appears as a whole."""
        path = self._find(name)
        for tries in range(_TRIES):
            try:
                with self._translate():
                    write_safely(path.parent, path.name, data)
                break
            except FileNotFoundError as error:
                if tries == _TRIES - 1:
                    raise self._refuse(error) from error

    def get(self, name: str, start: int, length: int) -> bytes:
        """Return some bytes of a file; raises `KeyError`."""
        try:
            with self._translate(), self._find(name).open("rb", buffering=0) as file:
                file.seek(start)
                return _read(file.fileno(), length)
        except (FileNotFoundError, IsADirectoryError):
            raise KeyError(name) from None

    def get_many(self, wanted: Sequence[tuple[str, int, int]]) -> list[bytes]:
        """Return some bytes of several files; raises `KeyError`."""
        return [self.get(*each) for each in wanted]

    def delete(self, names: Iterable[str]) -> None:
        """Delete files, and folders that are empty then."""
        folders: set[Path] = set()
        with self._translate():
            for name in names:
                path = self._find(name)
                with suppress(FileNotFoundError):
                    path.unlink()
                    folders.add(path.parent)
            for folder in folders:
                self._tidy(folder)

    def delete_under(self, prefix: str) -> int:
        """Delete a folder; files that are not whole go as well, and are not counted."""
        check_prefix(prefix)
        count = 0
        top = self._folder / prefix
        with self._translate():
            for place, folders, names in os.walk(top, topdown=False):
                for name in names:
                    with suppress(FileNotFoundError):
                        os.unlink(Path(place, name))
                        count += not name.startswith(HIDDEN)
                for name in folders:
                    with suppress(OSError):  # somebody writes to it
                        os.rmdir(Path(place, name))
            if top.is_dir():
                self._tidy(top)
        return count

    def list_under(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the names and sizes of files."""
        if prefix:
            check_prefix(prefix)
        with self._translate():
            yield from _scan(self._folder / prefix, prefix)

    def list_folders(self) -> list[str]:
        """Return the names of the folders in this one."""
        with self._translate(), suppress(FileNotFoundError):
            return sorted(each.name for each in os.scandir(self._folder) if each.is_dir())
        return []

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _find(self, name: str) -> Path:
        check_name(name)
        return self._folder / name

    def _tidy(self, folder: Path) -> None:
        """Return when it is on the disk that files are gone; folders that are empty go as well."""
        while folder != self._folder:
            with suppress(FileNotFoundError):  # somebody else took it away
                flush_folder(folder)
            with suppress(FileNotFoundError):
                try:
                    folder.rmdir()
                except OSError:
                    return
            folder = folder.parent
        with suppress(FileNotFoundError):
            flush_folder(folder)

    @contextmanager
    def _translate(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, IsADirectoryError):
            raise
        except OSError as error:
            raise self._refuse(error) from error

    def _refuse(self, error: OSError) -> StoreError:
        return StoreError(f"The bytes in {self.address} cannot be read or written ({error})")


def _read(file: int, length: int) -> bytes:
    """Return as many bytes, fewer if the file ends."""
    pieces: list[bytes] = []
    while length > 0 and (piece := os.read(file, length)):
        pieces.append(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _scan(folder: Path, prefix: str) -> Iterator[tuple[str, int]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda each: f"{each.name}/" if each.is_dir() else each.name)
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.name.startswith(HIDDEN):
            continue
        if entry.is_dir():
            yield from _scan(Path(entry.path), f"{prefix}{entry.name}/")
        else:
            with suppress(FileNotFoundError):  # deleted meanwhile
                yield f"{prefix}{entry.name}", entry.stat().st_size
