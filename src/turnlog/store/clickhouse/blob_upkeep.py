"""Blobs that nobody needs any more: of tails that were merged or sealed, and of months that are not kept.

A file that grows line by line leaves a small blob with every write, until what they held was sealed in another
one. Sessions that were written since the last time are looked through, now and then: what their rows do not
name is deleted. Whoever reads just then, and was told of such a blob before, looks again (`archive`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

from msgspec import Struct, msgpack

from turnlog.store.clickhouse.compacting import compact_left
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.transaction import Connected, name_folder
from turnlog.store.control.interface import Control
from turnlog.store.portable.database import Execute

__all__ = ["expire_blobs", "hold_blobs", "scrub_blobs", "tidy_blobs"]

_SECOND_NS = 1_000_000_000
_PAUSE_NS = 600 * _SECOND_NS
"""How long nothing is looked through behind the last time."""
_HELD_NS = 24 * 3600 * _SECOND_NS
"""How long blobs are held for somebody who died meanwhile."""
_SOME = 1000
"""How many sessions are looked through at a time."""
_TIDIED = "blobs tidied"
_HELD = "blobs held "
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_DECEMBER = 12
# What was written once has nothing that is superseded.
_WRITTEN = f"""
SELECT id, born, write FROM sessions FINAL WHERE write > {{after:UInt64}} AND revision > 1
ORDER BY write LIMIT {_SOME} WITH TIES
"""
_IN_TAILS = """
SELECT DISTINCT arrayJoin(tail).4 FROM generations FINAL WHERE session IN {sessions:Array(UInt128)}
"""
_IN_FRAMES = "SELECT DISTINCT blob FROM frames FINAL WHERE session IN {sessions:Array(UInt128)}"


class _Tidied(Struct, frozen=True, gc=False):
    """How far that was done: up to which write, and when."""

    write: int = 0
    at_ns: int = 0


def tidy_blobs(parts: Connected, now_ns: int, *, pause_ns: int = _PAUSE_NS) -> int:
    """Delete blobs that no row names, or that are too old, if that was not done lately; return how many.

    Nothing happens while somebody holds them.
    """
    control = parts._control
    before = _find_tidied(control)
    if now_ns - before.at_ns < pause_ns or _are_held(control, now_ns):
        return 0
    compact_left(parts)
    # In this order: whoever began a write up to that number is listed, or all that they published can be seen.
    [(last,)] = control.read(lambda execute: execute("SELECT value FROM @counters WHERE name = 'writes'"))
    unfinished = {each.write for each in control.list_unfinished()}
    found = parts._engine.query(_WRITTEN, {"after": before.write})
    count = _tidy(parts, [Staged(session, born) for session, born, _ in found], last, unfinished)
    is_all = len(found) < _SOME  # the others come next time, without a pause
    reached = min([int(last if is_all else found[-1][2]), *(write - 1 for write in unfinished)])
    after = _Tidied(reached, now_ns if is_all else before.at_ns)
    control.write(lambda execute: _remember(execute, _TIDIED, msgpack.encode(after)))
    return count + expire_blobs(parts, datetime.fromtimestamp(now_ns // _SECOND_NS, UTC).date())


def scrub_blobs(parts: Connected, now_ns: int) -> bool:
    """Remove from blobs what their sessions no longer have; return False if they are in use just now."""
    return not _are_held(parts._control, now_ns) and compact_left(parts)


def expire_blobs(parts: Connected, today: date) -> int:
    """Delete the blobs of months of which no day is kept any more; return how many."""
    if parts._retention_days is None:
        return 0
    # It may still be yesterday for the server that drops the rows.
    kept_from = today - timedelta(days=parts._retention_days + 1)
    count = 0
    for folder in parts._blobs.list_folders():
        matched = _MONTH.fullmatch(folder)
        if matched and _find_last_day(int(matched[1]), int(matched[2])) <= kept_from:
            count += parts._blobs.delete_under(f"{folder}/")
    return count


@contextmanager
def hold_blobs(control: Control, now_ns: int) -> Iterator[None]:
    """Keep blobs from being tidied away, for somebody who reads rows first and bytes later."""
    name = f"{_HELD}{uuid4().hex}"
    until = msgpack.encode(now_ns + _HELD_NS)
    control.write(lambda execute: _remember(execute, name, until))
    try:
        yield
    finally:
        control.write(lambda execute: execute("DELETE FROM @facts WHERE name = ?", (name,)))


def _tidy(parts: Connected, sessions: Sequence[Staged], last: int, unfinished: set[int]) -> int:
    there = [name for each in sessions for name, _ in parts._blobs.list_under(name_folder(each))]
    if not there:
        return 0
    wanted = {"sessions": [each.session for each in sessions]}
    # In this order: a frame is staged before the tail that had it is published without it.
    named = [*parts._engine.query(_IN_TAILS, wanted), *parts._engine.query(_IN_FRAMES, wanted)]
    used = {blob.decode() for (blob,) in named}
    gone = [name for name in there if name not in used and _was_finished(name, last, unfinished)]
    parts._blobs.delete(gone)
    return len(gone)


def _was_finished(name: str, last: int, unfinished: set[int]) -> bool:
    write = name.rpartition("/")[2]
    return write.isdecimal() and int(write) <= last and int(write) not in unfinished


def _find_tidied(control: Control) -> _Tidied:
    query = "SELECT value FROM @facts WHERE name = ?"
    for (value,) in control.read(lambda execute: execute(query, (_TIDIED,))):
        return msgpack.decode(bytes(value), type=_Tidied)
    return _Tidied()


def _are_held(control: Control, now_ns: int) -> bool:
    query = "SELECT value FROM @facts WHERE name LIKE ?"
    found = control.read(lambda execute: execute(query, (f"{_HELD}%",)))
    return any(msgpack.decode(bytes(value), type=int) > now_ns for (value,) in found)


def _remember(execute: Execute, name: str, value: bytes) -> None:
    execute("DELETE FROM @facts WHERE name = ?", (name,))
    execute("INSERT INTO @facts (name, value) VALUES (?, ?)", (name, value))


def _find_last_day(year: int, month: int) -> date:
    following = date(year + 1, 1, 1) if month == _DECEMBER else date(year, month + 1, 1)
    return following - timedelta(days=1)
