"""Bytes for search: the frames of many lines fetched at once, and not checked against their digests.

The check takes longer than all else that is done to show a hit, and whoever reads the message itself makes it.
A frame that cannot be opened is told all the same. Frames that were opened lately stay.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from turnlog.errors import ArchiveError
from turnlog.store.blobs.interface import Blobs
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.layouts import Layout, Span, lay_out
from turnlog.store.clickhouse.stored_frames import StoredFrame, fetch_frames
from turnlog.store.frames import decompress
from turnlog.store.identity import Place, Scope

__all__ = ["FrameReader", "Stretch"]

_KEPT = 64
"""How many open frames stay in memory: 16 MiB."""
_AT_ONCE = 64
"""How many are fetched at once; what is more, as of a line of many megabytes, one by one when it is read."""


class Stretch(Struct, frozen=True, gc=False):
    """Where the bytes of a line are."""

    name: tuple[str, int]
    """The source and the generation, as a `Place` names them."""
    session: int
    span: Span


class FrameReader:
    """Reads lines that were prepared, of sessions that may be seen."""

    def __init__(self, engine: Engine, blobs: Blobs) -> None:
        self._engine = engine
        self._blobs = blobs
        self._open: OrderedDict[StoredFrame, bytes] = OrderedDict()
        self._closed: dict[StoredFrame, bytes] = {}
        """Those that were fetched, and that nobody has opened yet."""
        self._layouts: dict[tuple[str, int], Layout] = {}
        self._stretches: Sequence[Stretch] = ()

    def prepare(self, stretches: Sequence[Stretch]) -> None:
        """Fetch the frames of some stretches, but for those that are open."""
        self._stretches = stretches
        self._lay_out()
        frames = [frame for layout in self._layouts.values() for frame in layout.frames]
        self._fetch([frame for frame in frames if frame not in self._open][:_AT_ONCE])

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` if they were not prepared, `ArchiveError` if they cannot be read."""
        if (at.source, at.generation) not in self._layouts:
            raise KeyError(at)
        try:
            return b"".join(self._read(at, length))
        except KeyError:
            # The blob of a tail goes away when its frames were put together.
            self._lay_out()
        try:
            return b"".join(self._read(at, length))
        except KeyError:
            raise ArchiveError("Its bytes are missing", at.source, at.generation, at.offset) from None

    def _lay_out(self) -> None:
        self._closed, self._layouts = {}, {}
        sessions = sorted({stretch.session for stretch in self._stretches})
        found = lay_out(self._engine.query, sessions, [stretch.span for stretch in self._stretches])
        for stretch in self._stretches:
            layout = found.get((stretch.span.source, stretch.span.generation))
            if layout is not None:
                self._layouts[stretch.name] = layout

    def _read(self, at: Place, length: int) -> Iterable[bytes]:
        layout = self._layouts[at.source, at.generation]
        return layout.read(at, length, lambda frame: self._load(frame, at))

    def _load(self, frame: StoredFrame, at: Place) -> bytes:
        data = self._open.get(frame)
        if data is not None:
            self._open.move_to_end(frame)
            return data
        if frame not in self._closed:
            self._fetch([frame])
        try:
            data = decompress(self._closed.pop(frame), frame.length)
        except ValueError as error:
            raise ArchiveError(str(error), at.source, at.generation, frame.start) from None
        self._open[frame] = data
        if len(self._open) > _KEPT:
            self._open.popitem(last=False)
        return data

    def _fetch(self, frames: Collection[StoredFrame]) -> None:
        """Fetch frames; those whose blob is gone are missed when they are read."""
        try:
            self._closed.update((frame, found.data) for frame, found in fetch_frames(self._blobs, frames))
        except KeyError:
            if len(frames) > 1:  # the others may be there
                for frame in frames:
                    self._fetch([frame])
