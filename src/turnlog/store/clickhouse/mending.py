"""Mending: damaged bytes are put back, in a blob of their own, and the rows name that from then on."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from turnlog.store.batch import Frame
from turnlog.store.blobs.interface import Blobs
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.layouts import Span, lay_out
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.reading import Within
from turnlog.store.clickhouse.schema import FRAMES, GENERATIONS
from turnlog.store.clickhouse.sources import Generation
from turnlog.store.clickhouse.stored_frames import StoredFrame, build_frames, fetch_frames
from turnlog.store.clickhouse.tails import NewBytes
from turnlog.store.clickhouse.transaction import Connected, Write
from turnlog.store.control.machines import list_locks
from turnlog.store.frames import make_frame, open_frame
from turnlog.store.identity import Scope
from turnlog.store.packing import unpack_text

__all__ = ["mend_frames"]

_ALL = 1 << 62
"""Behind every byte."""
_FIND = f"""
SELECT {", ".join(GENERATIONS.names)} FROM generations FINAL
WHERE session = {{session:UInt128}} AND source = {{source:UInt128}} AND generation = {{generation:Int64}}
"""
_Find = Callable[[int, int], bytes | None]


def mend_frames(parts: Connected, scope: Scope, source: str, generation: int, find: _Find) -> int:
    """Replace frames that cannot be opened by what `find` has of them, if its digest is the same."""
    within = parts._reading(scope).within_source(source)
    if within is None:
        return 0
    name = number(scope.owner, source), generation
    mended: dict[StoredFrame, Frame] = {}
    for frame in _list_frames(within, *name):
        if _is_damaged(parts._blobs, frame):
            data = find(frame.start, frame.length)
            if data is not None and (new := make_frame(data, frame.start)).digest == frame.digest:
                mended[frame] = new
    if not mended:
        return 0
    staged = Staged(within.session.id, within.session.born)
    locks = list_locks(parts._control, scope.owner, [unpack_text(within.session.origin)])
    with parts._writing(scope.owner, locks, [staged]) as write:
        # Others may have written since: what they merged is damaged no longer, or somewhere else.
        there = {frame: mended[frame] for frame in _list_frames(within, *name) if frame in mended}
        added = NewBytes(write, parts._blobs, staged)
        _publish(write, within, name, added, there)
        added.finish()
    return len(there)


def _list_frames(within: Within, source: int, generation: int) -> list[StoredFrame]:
    layouts = lay_out(within.query, [within.session.id], [Span(source, generation, 0, _ALL)])
    return [frame for layout in layouts.values() for frame in layout.frames]


def _is_damaged(blobs: Blobs, frame: StoredFrame) -> bool:
    try:
        for _, found in fetch_frames(blobs, [frame]):
            open_frame(found)
    except (KeyError, ValueError):
        return True
    return False


def _publish(
    write: Write, within: Within, name: tuple[int, int], added: NewBytes, new: dict[StoredFrame, Frame]
) -> None:
    """Have rows name other places for frames; staged, they could not be taken back."""
    source, generation = name
    mended = {frame: added.keep(better) for frame, better in new.items()}
    for row in within.query(_FIND, {"source": source, "generation": generation}):
        there = Generation(*row)
        tail = build_frames(there.tail)
        if any(frame in mended for frame in tail):
            cells = [mended.get(frame, frame).cells for frame in tail]
            write.publish(GENERATIONS, [replace(there, write=write.number, tail=cells).cells])
        full = [mended[frame] for frame in mended.keys() - {*tail}]
        write.publish(FRAMES, added.make_rows(source, generation, full))
