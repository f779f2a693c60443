"""The spool: a folder in which hook deliveries lie safely until the store has them.

There are two kinds of files. A hook writes its payload as it is, into `<nanoseconds>-<random>.json`; a server
writes what came at about the same time as one `.batch`, so that one flush to the disk is enough for all. Both
are written under a hidden name and renamed when they are whole. What cannot be read as a delivery goes to
`aside/`, and stays. Several processes may import files: the store keeps each delivery once, and a
file is removed only after that.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from turnlog.atomic_files import HIDDEN, make_folder, write_file
from turnlog.transcripts.hooks import HookDelivery, build_delivery

SPOOL = "spool"
"""What the folder is called in turnlog's own."""
LARGEST = 64 << 20
"""How many bytes a payload may have."""
_ID = re.compile(r"([0-9]{1,20})-[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_SINGLE, _BATCH = ".json", ".batch"
_ASIDE = "aside"
_ABANDONED_SECONDS = 3600.0
"""After this, nobody goes on writing what has no name yet."""
_FRESH, _FRESH_BYTES = 64, 1 << 20
"""How many files stay in memory until they are read, and how large each may be."""
_SECOND = 1_000_000_000
_EARLIEST = 1_000_000_000 * _SECOND
_DAY = 86_400 * _SECOND


class Frame(Struct, frozen=True, gc=False, array_like=True):
    """A payload as it lies in a `.batch`, and what it is known by."""

    delivery_id: str
    received_ns: int
    payload: bytes
    origin: str = ""
    """The machine that it was pushed from; empty for this one."""


class SpoolCounts(Struct, frozen=True, gc=False):
    """How many files lie there."""

    waiting: int
    quarantined: int


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Frame]).decode


def make_delivery_id() -> str:
    """Return a name for a delivery that came without one."""
    return f"{time.time_ns()}-{os.urandom(8).hex()}"


def is_delivery_id(text: str) -> bool:
    """Tell whether somebody may call a delivery so; nothing else becomes the name of a file."""
    return _ID.fullmatch(text) is not None


def find_time(delivery_id: str, otherwise_ns: int) -> int:
    """Return when a delivery was made, by its name; `otherwise_ns` if that says less, or nonsense."""
    found = _ID.fullmatch(delivery_id)
    told = 0 if found is None else int(found[1])
    sensible = _EARLIEST < told < otherwise_ns + _DAY and told % _SECOND
    return told if sensible else otherwise_ns


class Spool:
    """The folder, which is made when something is first written to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._aside = folder / _ASIDE
        self._fresh: OrderedDict[str, list[HookDelivery]] = OrderedDict()
        """What was written last, for who reads it in the same process: it is decoded already."""

    def write(self, deliveries: Sequence[HookDelivery]) -> str:
        """Write deliveries as one file, and return its name when it is on the disk; raises `OSError`."""
        name = f"{make_delivery_id()}{_BATCH}"
        frames = [Frame(each.delivery_id, each.received_ns, each.payload, each.origin) for each in deliveries]
        data = _encode(frames)
        if len(data) <= _FRESH_BYTES:  # before it is there for others to read
            self._fresh[name] = list(deliveries)
            if len(self._fresh) > _FRESH:
                self._fresh.popitem(last=False)
        try:
            make_folder(self.folder)
            write_file(self.folder / name, data)
        except OSError:
            self._fresh.pop(name, None)
            raise
        return name

    def write_aside(self, delivery_id: str, payload: bytes) -> None:
        """Keep what is no delivery; raises `OSError`."""
        make_folder(self._aside)
        write_file(self._aside / f"{delivery_id}{_SINGLE}", payload)

    def list_names(self) -> Iterator[str]:
        """Yield the names of files that are whole, in no order."""
        for entry in _scan(self.folder):
            if entry.name.startswith(HIDDEN):
                self._put_abandoned_aside(entry)
            elif not entry.is_dir(follow_symlinks=False):
                yield entry.name

    def read(self, name: str) -> list[HookDelivery] | None:
        """Return the deliveries in a file: none if somebody has taken them, None if it holds no such thing.

        Their payloads may be anything. Raises `OSError` if it cannot be read.
        """
        if fresh := self._fresh.pop(name, None):
            return fresh
        try:
            content, changed_ns = _read_regular(
                self.folder / name, 2 * LARGEST if name.endswith(_BATCH) else LARGEST
            )
        except FileNotFoundError:
            return []
        if content is None:
            return None
        stem, ending = os.path.splitext(name)
        if ending == _SINGLE and is_delivery_id(stem):
            return [build_delivery(stem, find_time(stem, changed_ns), content)]
        try:
            frames = _decode(content) if ending == _BATCH else None
        except msgspec.DecodeError:
            return None
        if frames is None:
            return None
        return [build_delivery(*astuple(frame)) for frame in frames]

    def remove(self, name: str) -> None:
        """Remove a file, if it is still there; raises `OSError`."""
        with suppress(FileNotFoundError):
            os.unlink(self.folder / name)

    def put_aside(self, name: str) -> None:
        """Move a file aside, if it is still there; raises `OSError`."""
        make_folder(self._aside)
        target = self._aside / (name.lstrip(HIDDEN) or make_delivery_id())
        if os.path.lexists(target):  # what is there stays
            target = self._aside / make_delivery_id()
        with suppress(FileNotFoundError):
            os.rename(self.folder / name, target)

    def count(self, most: int = 100_000) -> SpoolCounts:
        """Count the files, up to so many of each kind."""
        return SpoolCounts(_count_files(self.folder, most), _count_files(self._aside, most))

    def _put_abandoned_aside(self, entry: os.DirEntry[str]) -> None:
        """Move what was never finished aside, when nobody can be at it any more."""
        with suppress(OSError):
            there = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(there.st_mode) and time.time() - there.st_mtime > _ABANDONED_SECONDS:
                self.put_aside(entry.name)


def _scan(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield what a folder holds, one after the other; nothing if there is none."""
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        yield from entries


def _count_files(folder: Path, most: int) -> int:
    """Count the files that are whole, up to so many."""
    count = 0
    for entry in _scan(folder):
        count += not entry.name.startswith(HIDDEN) and not entry.is_dir(follow_symlinks=False)
        if count >= most:
            break
    return count


def _read_regular(path: Path, largest: int) -> tuple[bytes | None, int]:
    """Return a file's bytes, and when it was changed; None for what is no plain file, or too large."""
    # Neither a link that leads elsewhere nor a pipe that nobody writes to.
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError:
        if stat.S_ISREG(os.lstat(path).st_mode):
            raise
        return None, 0
    with os.fdopen(file, "rb") as opened:
        there = os.fstat(file)
        if not stat.S_ISREG(there.st_mode) or there.st_size > largest:
            return None, 0
        return opened.read(), there.st_mtime_ns
