"""The bytes: frames by generation and start, whose place in a blob a row tells, opened when they are asked for.

Frames that were opened lately stay in memory: the lines of a window are mostly in one or two of them. The blob
of a tail goes away some time after its frames were sealed; whoever was told of it before looks again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from turnlog.errors import ArchiveError
from turnlog.store.batch import Frame
from turnlog.store.blobs.interface import Blobs
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.layouts import Layout, Span, lay_out
from turnlog.store.clickhouse.reading import see_sessions
from turnlog.store.clickhouse.stored_frames import StoredFrame, fetch_frames
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.frames import open_frame
from turnlog.store.identity import Place, Scope

__all__ = ["ClickHouseArchive"]

_KEPT = 32
"""How many open frames stay in memory: 8 MiB."""
_AHEAD = 16
"""How many frames are fetched at once."""
_PAGE = 8 << 20
"""How many bytes of a whole generation are looked up at once."""
_GENERATIONS = """
SELECT generation, length FROM generations FINAL
WHERE session IN {sessions:Array(UInt128)} AND source = {source:UInt128} ORDER BY generation
"""
_SESSIONS = """
SELECT id FROM sessions FINAL WHERE owner = {owner:String} AND @seen
AND id IN (SELECT session FROM sources WHERE source IN {sources:Array(UInt128)})
"""
_Name = tuple[str, int]


class _LookAgainError(Exception):
    """A blob is gone since its name was looked up."""


class ClickHouseArchive:
    """Bytes by source, generation and range."""

    def __init__(self, parts: Connected) -> None:
        self._parts = parts
        self._open: OrderedDict[StoredFrame, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` for what is not there, `ArchiveError` for what is damaged."""
        return self.read_many(scope, {at: length})[at]

    def read_many(self, scope: Scope, wanted: Mapping[Place, int]) -> dict[Place, bytes]:
        """Return bytes at several places, each with its length; each frame is asked for once."""
        for at, length in wanted.items():
            if at.offset < 0 or length < 0:
                raise KeyError(at)
        try:
            return self._read(scope, wanted)
        except _LookAgainError:
            return self._read(scope, wanted, is_last=True)

    def read_all(self, scope: Scope, source: str, generation: int) -> Iterator[bytes]:
        """Yield the bytes of a whole generation, piece by piece.

        It is as long as it was when this was called, even if frames are sealed meanwhile.
        """
        [layout] = self._lay_out(scope, {Place(source, generation, 0): 0}).values()
        return self._read_pieces(scope, Place(source, generation, 0), layout.length)

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        """Return the generations of a source, each with its length."""
        wanted = number(scope.owner, source)
        sessions = self._list_sessions(scope, [wanted])
        if not sessions:
            return []
        found = self._parts._engine.query(_GENERATIONS, {"sessions": sessions, "source": wanted})
        return [(generation, length) for generation, length in found]

    def _read(self, scope: Scope, wanted: Mapping[Place, int], *, is_last: bool = False) -> dict[Place, bytes]:
        layouts = self._lay_out(scope, wanted)
        for at, length in wanted.items():
            if at.offset + length > layouts[at.source, at.generation].length:
                raise KeyError(at)
        needed = [frame for layout in layouts.values() for frame in layout.frames]
        frames = _Frames(self, needed, is_last=is_last)
        return {
            at: b"".join(frames.read(layouts[at.source, at.generation], at, wanted[at]))
            for at in sorted(wanted)
        }

    def _read_pieces(self, scope: Scope, at: Place, length: int) -> Iterator[bytes]:
        position, is_last = 0, False
        while position < length:
            here = Place(at.source, at.generation, position)
            size = min(_PAGE, length - position)
            layout = self._lay_out(scope, {here: size})[at.source, at.generation]
            frames = _Frames(self, layout.frames, is_last=is_last)
            try:
                for piece in frames.read(layout, here, size):
                    yield piece
                    position += len(piece)
                    is_last = False
            except _LookAgainError:
                is_last = True

    def _lay_out(self, scope: Scope, wanted: Mapping[Place, int]) -> dict[_Name, Layout]:
        """Return where bytes are; raises `KeyError` for a generation that is not there."""
        names = {(at.source, at.generation): number(scope.owner, at.source) for at in wanted}
        sessions = self._list_sessions(scope, sorted({*names.values()}))
        spans = [
            Span(names[at.source, at.generation], at.generation, at.offset, at.offset + length)
            for at, length in wanted.items()
        ]
        found = lay_out(self._parts._engine.query, sessions, spans) if sessions else {}
        for (source, generation), wide in names.items():
            if (wide, generation) not in found:
                raise KeyError(Place(source, generation, 0))
        return {name: found[wide, name[1]] for name, wide in names.items()}

    def _list_sessions(self, scope: Scope, sources: Sequence[int]) -> list[int]:
        """Return the sessions of some files, those that may be seen."""
        seen = see_sessions(scope, self._parts._retention_days)
        values = {"owner": scope.owner, "sources": sources}
        found = self._parts._engine.query(_SESSIONS.replace("@seen", seen), values)
        return [session for (session,) in found]

    def find_open(self, frame: StoredFrame) -> bytes | None:
        """Return the bytes of a frame that was opened lately."""
        with self._lock:
            data = self._open.get(frame)
            if data is not None:
                self._open.move_to_end(frame)
            return data

    def keep_open(self, frame: StoredFrame, data: bytes) -> None:
        """Have the bytes of a frame at hand for a while."""
        with self._lock:
            self._open[frame] = data
            while len(self._open) > _KEPT:
                self._open.popitem(last=False)

    @property
    def blobs(self) -> Blobs:
        """What has the bytes."""
        return self._parts._blobs


class _Frames:
    """Frames that are going to be read one behind the other, and so are fetched some at a time."""

    def __init__(self, archive: ClickHouseArchive, needed: Sequence[StoredFrame], *, is_last: bool) -> None:
        self._archive = archive
        self._needed = needed
        self._is_last = is_last
        self._places = {frame: place for place, frame in enumerate(needed)}
        self._fetched: dict[StoredFrame, Frame] = {}

    def read(self, layout: Layout, at: Place, length: int) -> Iterator[bytes]:
        """Yield bytes, a frame's at a time."""
        return layout.read(at, length, lambda frame: self._load(frame, at))

    def _load(self, frame: StoredFrame, at: Place) -> bytes:
        data = self._archive.find_open(frame)
        if data is not None:
            return data
        try:
            if frame not in self._fetched:
                self._fetch(frame)
            data = open_frame(self._fetched.pop(frame))
        except KeyError:
            if not self._is_last:
                raise _LookAgainError from None
            raise ArchiveError("Its bytes are missing", at.source, at.generation, frame.start) from None
        except ValueError as error:
            raise ArchiveError(str(error), at.source, at.generation, frame.start) from None
        self._archive.keep_open(frame, data)
        return data

    def _fetch(self, frame: StoredFrame) -> None:
        place = self._places[frame]
        near = [each for each in self._needed[place : place + _AHEAD] if self._archive.find_open(each) is None]
        try:
            self._fetched = dict(fetch_frames(self._archive.blobs, near))
        except KeyError:
            # The one that is wanted may be there, unlike one behind it.
            self._fetched = dict(fetch_frames(self._archive.blobs, [frame]))
