"""The file of a copy: a tar archive whose last member tells what all of it comes to.

It is written and read from its beginning to its end, piece by piece. The members, in this order:

- `turnlog-backup.json`: what it is, and the steps that made the tables;
- `keys/…`: the sessions that it has, by owner and key;
- `control/<table>/…`: rows of the control database, packed;
- `tables/<table>/…`: rows of the engine's tables, in its own format, in pieces that belong together;
- `blobs/…`: the bytes;
- `end.json`: how many members there are before it, and a digest of them.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from io import BytesIO, RawIOBase
from itertools import groupby
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import msgspec
import zstandard
from msgspec import Struct, msgpack

from turnlog.errors import StoreError

__all__ = ["HEAD", "BackupReader", "BackupWriter", "Head", "is_backup", "verify_backup"]

HEAD = "turnlog-backup.json"
_END = "end.json"
_FORMAT = 1
_ENGINE = "clickhouse"
_PIECE = 8 << 20
"""How many bytes a member has that is a piece of something larger, before it is packed."""
_READ = 1 << 20
_SIZE = 4
"""How many bytes tell how long a row is."""
_MOST_HEAD = 1 << 20


class Head(Struct, frozen=True):
    """What a copy says of itself."""

    made_ns: int
    steps: list[str]
    """By which the tables were made that are in it."""
    format: int = _FORMAT
    engine: str = _ENGINE


class _End(Struct, frozen=True):
    """What a copy comes to."""

    members: int
    digest: str


class _Chain:
    """A digest of members, in their order."""

    def __init__(self) -> None:
        self._digest = blake2b(digest_size=32)
        self.members = 0

    def begin(self, name: str, size: int) -> None:
        """Take the next member."""
        told = name.encode()
        self._digest.update(len(told).to_bytes(4, "big") + told + size.to_bytes(8, "big"))
        self.members += 1

    def update(self, data: bytes) -> None:
        """Take some of its bytes."""
        self._digest.update(data)

    @property
    def end(self) -> _End:
        """What it comes to."""
        return _End(self.members, self._digest.hexdigest())


class BackupWriter:
    """Writes a copy; `close` makes it whole."""

    def __init__(self, file: BinaryIO, head: Head) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - `close` does
        self._chain = _Chain()
        self.bytes = 0
        """How many were written."""
        self._add(HEAD, msgspec.json.encode(head))

    def add_rows(self, name: str, rows: Iterable[Any]) -> None:
        """Write rows in pieces; each is anything that can be packed."""

        def pack() -> Iterator[bytes]:
            held: list[bytes] = []
            size = 0
            for row in rows:
                packed = msgpack.encode(row)
                held += (len(packed).to_bytes(_SIZE, "big"), packed)
                size += _SIZE + len(packed)
                if size >= _PIECE:
                    yield b"".join(held)
                    held, size = [], 0
            yield b"".join(held)

        self._add_pieces(name, pack())

    def add_stream(self, name: str, data: Iterable[bytes]) -> None:
        """Write what comes, in pieces."""

        def gather() -> Iterator[bytes]:
            held = bytearray()
            for some in data:
                held += some
                if len(held) >= _PIECE:
                    yield bytes(held)
                    held.clear()
            yield bytes(held)

        self._add_pieces(name, gather())

    def add_blob(self, name: str, size: int, read: Callable[[int, int], bytes]) -> None:
        """Write bytes that are read from a start on, as many as asked for; raises `KeyError` without any."""
        first = read(0, min(size, _PIECE))

        def read_on(start: int, length: int) -> bytes:
            try:
                return read(start, length)
            except KeyError:
                raise StoreError(f"The bytes {name} were deleted while they were copied") from None

        self._begin(f"blobs/{name}", size, _Told(first, read_on, self._chain))

    def close(self) -> None:
        """Write the end."""
        end = msgspec.json.encode(self._chain.end)
        self._tar.addfile(_describe(_END, len(end)), BytesIO(end))
        self._tar.close()

    def _add_pieces(self, name: str, pieces: Iterable[bytes]) -> None:
        packer = zstandard.ZstdCompressor(level=3)
        for at, piece in enumerate(each for each in pieces if each):
            self._add(f"{name}/{at:08d}.zst", packer.compress(piece))

    def _add(self, name: str, data: bytes) -> None:
        self._begin(name, len(data), _Told(data, lambda start, length: b"", self._chain))

    def _begin(self, name: str, size: int, content: _Told) -> None:
        self._chain.begin(name, size)
        self._tar.addfile(_describe(name, size), cast(IO[bytes], content))
        self._tar.members.clear()  # type: ignore[attr-defined]  # it would remember all of them
        self.bytes += size


class BackupReader:
    """Reads a copy from its beginning."""

    def __init__(self, source: Path) -> None:
        self._source = source

    def read_head(self) -> Head:
        """Return what it says of itself; raises `StoreError` if that is nothing of ours."""
        for name, _, content in self.iterate():
            if name == HEAD:
                try:
                    head = msgspec.json.decode(content.read(_MOST_HEAD), type=Head)
                except msgspec.DecodeError as error:
                    raise StoreError(f"{self._source} is damaged ({error})") from error
                if head.format == _FORMAT and head.engine == _ENGINE:
                    return head
            break
        raise StoreError(f"{self._source} is no backup of a store on ClickHouse")

    def read_rows(self, folder: str) -> Iterator[tuple[str, Iterator[Any]]]:
        """Yield what `add_rows` was given, by the names that begin so; what comes behind is not looked at."""
        for name, pieces in self.read_streams(folder):
            yield name, (row for piece in pieces for row in _unpack_rows(piece))

    def read_streams(self, folder: str) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield what `add_stream` was given, by the names that begin so, in pieces."""
        for name, members in groupby(self._find(folder), key=lambda each: each[0].rpartition("/")[0]):
            yield name.removeprefix(folder), (self._unpack(content) for _, content in members)

    def read_blobs(self) -> Iterator[tuple[str, bytes]]:
        """Yield blobs."""
        for name, content in self._find("blobs/"):
            yield name.removeprefix("blobs/"), content.read()

    def _unpack(self, content: _Content) -> bytes:
        with _translate(self._source):
            return zstandard.ZstdDecompressor().decompress(content.read())

    def _find(self, folder: str) -> Iterator[tuple[str, _Content]]:
        is_there = False
        for name, _, content in self.iterate():
            if name.startswith(folder):
                is_there = True
                yield name, content
            elif is_there:
                return

    def iterate(self) -> Iterator[tuple[str, int, _Content]]:
        """Yield all members: names, sizes, and what reads them before the next one is asked for."""
        with _translate(self._source), tarfile.open(self._source, mode="r|") as tar:
            while (member := tar.next()) is not None:
                content = tar.extractfile(member)
                if content is None:
                    raise StoreError(f"{self._source} is damaged: {member.name} is no file")
                yield member.name, member.size, _Content(self._source, content)
                tar.members.clear()  # type: ignore[attr-defined]  # it would remember all of them


def is_backup(source: Path) -> bool:
    """Tell whether a file is such a copy, by its first bytes; raises `OSError`."""
    with source.open("rb") as file:
        return file.read(len(HEAD) + 1) == HEAD.encode() + b"\0"


def verify_backup(source: Path) -> Head:
    """Read all of a copy, and return what it says of itself; raises `StoreError` unless it is sound."""
    reader = BackupReader(source)
    head, chain = reader.read_head(), _Chain()
    for name, size, content in reader.iterate():
        if name == _END:
            with _translate(source):
                end = msgspec.json.decode(content.read(_MOST_HEAD), type=_End)
            if end != chain.end:
                raise StoreError(f"{source} is damaged: it is not what its end says")
            return head
        chain.begin(name, size)
        while piece := content.read(_READ):
            chain.update(piece)
    raise StoreError(f"{source} is not whole: its end is missing")


class _Content:
    """The bytes of a member."""

    def __init__(self, source: Path, content: IO[bytes]) -> None:
        self._source = source
        self._content = content

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; raises `StoreError` if they are not there."""
        with _translate(self._source):
            return self._content.read(size)


class _Told(RawIOBase):
    """Bytes that are read once from their beginning on, which a digest is told of."""

    def __init__(self, first: bytes, read: Callable[[int, int], bytes], chain: _Chain) -> None:
        self._held, self._start, self._at = first, 0, 0
        self._read_on = read
        self._chain = chain

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; nothing at the end."""
        if self._at == len(self._held):
            self._start += len(self._held)
            self._held, self._at = self._read_on(self._start, _PIECE), 0
        end = len(self._held) if size < 0 else self._at + size
        data = self._held[self._at : end]
        self._at += len(data)
        self._chain.update(data)
        return data


def _describe(name: str, size: int) -> tarfile.TarInfo:
    described = tarfile.TarInfo(name)
    described.size = size
    described.mode = 0o600
    return described


def _unpack_rows(piece: bytes) -> Iterator[Any]:
    """Yield what was packed one behind the other."""
    at = 0
    while at < len(piece):
        size = int.from_bytes(piece[at : at + _SIZE], "big")
        yield msgpack.decode(piece[at + _SIZE : at + _SIZE + size])
        at += _SIZE + size


@contextmanager
def _translate(source: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zstandard.ZstdError, msgspec.DecodeError) as error:
        raise StoreError(f"{source} is no backup of a store on ClickHouse, or damaged ({error})") from error
    except OSError as error:
        raise StoreError(f"{source} cannot be read: {error.strerror or error}") from error
