"""Blobs that hold something of a file which another session has now: what is still needed of them is kept anew.

All that one write adds to a session is in one blob. When one of its files moves to another session, its bytes
go along, and what was theirs is to be gone from here: else it would outlast that other session.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from msgspec import msgpack
from msgspec.structs import replace

from turnlog.errors import BusyStoreError
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.schema import FRAMES, GENERATIONS
from turnlog.store.clickhouse.sources import Generation
from turnlog.store.clickhouse.stored_frames import COLUMNS, StoredFrame, build_frames
from turnlog.store.clickhouse.tails import NewBytes
from turnlog.store.clickhouse.transaction import Connected, Write, name_folder
from turnlog.store.control.machines import list_locks
from turnlog.store.packing import unpack_text
from turnlog.store.portable.database import Execute

__all__ = ["compact_left", "note_left"]

_LEFT = "blobs left "
_FIND = "SELECT owner, origin FROM sessions FINAL WHERE id = {session:UInt128}"
_GENERATIONS = (
    f"SELECT {', '.join(GENERATIONS.names)} FROM generations FINAL WHERE session = {{session:UInt128}}"
)
_FRAMES = f"SELECT source, generation, {COLUMNS} FROM frames FINAL WHERE session = {{session:UInt128}}"
_Name = tuple[int, int]


def note_left(execute: Execute, session: Staged) -> None:
    """Remember that a file left a session; in the transaction that commits it."""
    name, born = f"{_LEFT}{session.session}", msgpack.encode(session.born.toordinal())
    execute("DELETE FROM @facts WHERE name = ?", (name,))
    execute("INSERT INTO @facts (name, value) VALUES (?, ?)", (name, born))


def compact_left(parts: Connected) -> bool:
    """Do so for all sessions that a file left; return False if somebody writes to one for too long."""
    query = "SELECT name, value FROM @facts WHERE name LIKE ?"
    noted = parts._control.read(lambda execute: execute(query, (f"{_LEFT}%",)))
    is_done = True
    for name, value in noted:
        born = date.fromordinal(msgpack.decode(bytes(value), type=int))
        try:
            _compact(parts, Staged(int(name.removeprefix(_LEFT)), born))
        except BusyStoreError:
            is_done = False
        else:
            _forget(parts, name)
    return is_done


def _forget(parts: Connected, name: str) -> None:
    parts._control.write(lambda execute: execute("DELETE FROM @facts WHERE name = ?", (name,)))


def _compact(parts: Connected, session: Staged) -> None:
    for owner, origin in parts._engine.query(_FIND, {"session": session.session}):
        name = unpack_text(owner)
        with parts._writing(name, list_locks(parts._control, name, [unpack_text(origin)]), [session]) as write:
            left = _keep_anew(parts, write, session)
        # Behind what is published: whoever was told of them before looks again.
        parts._blobs.delete(left)


def _keep_anew(parts: Connected, write: Write, session: Staged) -> list[str]:
    """Write what is needed of blobs that have more than that, and have rows name it; return those blobs."""
    values = {"session": session.session}
    generations = [Generation(*row) for row in parts._engine.query(_GENERATIONS, values)]
    frames: dict[_Name, list[StoredFrame]] = {}
    for source, generation, *cells in parts._engine.query(_FRAMES, values):
        frames.setdefault((source, generation), []).extend(build_frames([tuple(cells)]))
    tails = [build_frames(each.tail) for each in generations]
    needed = _add_up(frame for several in (*frames.values(), *tails) for frame in several)
    sizes = dict(parts._blobs.list_under(name_folder(session)))
    left = {name for name, size in sizes.items() if needed.get(name, 0) < size}
    added = NewBytes(write, parts._blobs, session)
    for each, tail in zip(generations, tails, strict=True):
        if any(frame.blob in left for frame in tail):
            cells = [(added.copy(frame) if frame.blob in left else frame).cells for frame in tail]
            write.publish(GENERATIONS, [replace(each, write=write.number, tail=cells).cells])
    for (source, generation), several in frames.items():
        moved = [added.copy(frame) for frame in several if frame.blob in left]
        write.publish(FRAMES, added.make_rows(source, generation, moved))
    added.finish()
    return sorted(left)


def _add_up(frames: Iterable[StoredFrame]) -> dict[str, int]:
    """Return how many bytes of each blob are needed."""
    found: dict[str, int] = {}
    for frame in frames:
        found[frame.blob] = found.get(frame.blob, 0) + frame.size
    return found
