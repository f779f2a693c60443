"""Deleting what is superseded: derived rows of former revisions, and texts of former generations.

Nobody sees any of it, but it takes space, and whoever reads a session goes through its rows. Sessions that
were written since the last time are looked through, some at a time. What the writes of the last minutes
superseded is left alone: somebody may be reading a session as it was before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, msgpack
from msgspec.structs import replace

from turnlog.store.clickhouse.kinds import SIGHTINGS
from turnlog.store.clickhouse.texts import clip_file
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.clickhouse.words import purge_words
from turnlog.store.control.interface import Control
from turnlog.store.portable.database import Execute

__all__ = ["tidy_tables"]

_PAUSE_NS = 600_000_000_000
"""How long nothing is looked through behind the last time."""
_WORDS_PAUSE_NS = 6 * 3_600_000_000_000
"""How long words are let be behind the last time."""
_SOME = 200
"""How many sessions are looked through at a time."""
_MUCH = 2000
"""So many superseded rows are worth deleting."""
_TIDIED = "rows tidied"
# What was written once has nothing that is superseded.
_WRITTEN = f"""
SELECT id, write FROM sessions FINAL WHERE write > {{after:UInt64}} AND revision > 1
ORDER BY write LIMIT {_SOME} WITH TIES
"""
_KEY = "session, kind, source, idx"
_OLD = "session IN {sessions:Array(UInt128)} AND write <= {bound:UInt64}"
_SURPLUS = f"""
SELECT session, uniqExact({_KEY}, revision) - uniqExact({_KEY}) AS surplus FROM rows WHERE {_OLD}
GROUP BY session HAVING surplus > 0
"""
_SUPERSEDED = f"""
{_OLD} AND ({_KEY}, revision) NOT IN (
    SELECT {_KEY}, max(revision) FROM rows WHERE {_OLD} GROUP BY {_KEY}
)
"""
_GONE = f"""
{_OLD} AND gone AND ({_KEY}) IN (
    SELECT {_KEY} FROM rows WHERE session IN {{sessions:Array(UInt128)}} GROUP BY {_KEY}
    HAVING uniqExact(revision) = 1
)
"""
_NOT_SIGHTED = f"""
{_OLD} AND (session, source, idx, revision) NOT IN (
    SELECT session, source, idx, revision FROM rows
    WHERE session IN {{sessions:Array(UInt128)}} AND kind = {SIGHTINGS.number}
)
"""
_RENEWED = """
SELECT session, source, generation FROM sources FINAL
WHERE session IN {sessions:Array(UInt128)} AND generation > 0
"""
_TEXTS = """
SELECT session, file, generation, toYYYYMM(max(born)) FROM texts
WHERE session IN {sessions:Array(UInt128)} AND file IN {files:Array(Int64)} GROUP BY session, file, generation
"""


class _Tidied(Struct, frozen=True, gc=False):
    """How far that was done."""

    write: int = 0
    """Up to which write."""
    bound: int = 0
    """The last write that was published when it was last looked; what it superseded may go next time."""
    at_ns: int = 0
    """When that was."""
    months: tuple[int, ...] = ()
    """Of texts that were deleted: some of their words may be nobody's."""
    words_ns: int = 0
    """When words were last purged."""


def tidy_tables(parts: Connected, now_ns: int, *, pause_ns: int = _PAUSE_NS) -> None:
    """Delete what is superseded, of some sessions, if that was not done lately."""
    control = parts._control
    before = _find_tidied(control)
    if now_ns - before.at_ns < pause_ns:
        return
    # In this order: whoever began a write up to that number is listed, or all that they published can be seen.
    [(last,)] = control.read(lambda execute: execute("SELECT value FROM @counters WHERE name = 'writes'"))
    bound = min([int(last), *(each.write - 1 for each in control.list_unfinished())])
    after, months = replace(before, write=before.bound, bound=bound, at_ns=now_ns), set(before.months)
    if before.bound > before.write:
        found = parts._engine.query(_WRITTEN, {"after": before.write})
        sessions = [session for session, _ in found]
        months |= _tidy(parts, sessions, before.bound)
        if len(found) >= _SOME and found[-1][1] < before.bound:
            after = replace(before, write=found[-1][1])  # the others come next time, without a pause
    if months and now_ns - before.words_ns > _WORDS_PAUSE_NS:
        purge_words(parts._engine, control, months)
        months, after = set(), replace(after, words_ns=now_ns)
    after = replace(after, months=tuple(sorted(months)))
    control.write(lambda execute: _remember(execute, msgpack.encode(after)))


def _tidy(parts: Connected, sessions: Sequence[int], bound: int) -> set[int]:
    """Delete what is superseded of some sessions; return the months of texts among it."""
    if not sessions:
        return set()
    surplus: dict[int, int] = dict(parts._engine.query(_SURPLUS, {"sessions": sessions, "bound": bound}))
    if sum(surplus.values()) >= _MUCH:
        values = {"sessions": sorted(surplus), "bound": bound}
        # In this order: what says that a row is gone goes when there is none that it is about.
        parts._engine.delete("rows", _SUPERSEDED, values)
        parts._engine.delete("rows", _GONE, values)
        parts._engine.delete("sightings", _NOT_SIGHTED, values)
    return _tidy_texts(parts, sessions)


def _tidy_texts(parts: Connected, sessions: Sequence[int]) -> set[int]:
    """Delete texts of files that were begun anew; return their months."""
    newest = {
        (session, clip_file(source)): generation
        for session, source, generation in parts._engine.query(_RENEWED, {"sessions": sessions})
    }
    if not newest:
        return set()
    values: Mapping[str, Any] = {
        "sessions": sorted({session for session, _ in newest}),
        "files": sorted({file for _, file in newest}),
    }
    places, months = [], set[int]()
    for session, file, generation, month in parts._engine.query(_TEXTS, values):
        if generation < newest.get((session, file), 0):
            places.append((str(session), str(file), str(generation)))
            months.add(month)
    if places:
        spelled = ", ".join(map(str, places))
        where = f"session IN {{sessions:Array(UInt128)}} AND (session, file, generation) IN ({spelled})"
        parts._engine.delete("texts", where, {"sessions": values["sessions"]})
    return months


def _find_tidied(control: Control) -> _Tidied:
    query = "SELECT value FROM @facts WHERE name = ?"
    for (value,) in control.read(lambda execute: execute(query, (_TIDIED,))):
        return msgpack.decode(bytes(value), type=_Tidied)
    return _Tidied()


def _remember(execute: Execute, value: bytes) -> None:
    execute("DELETE FROM @facts WHERE name = ?", (_TIDIED,))
    execute("INSERT INTO @facts (name, value) VALUES (?, ?)", (_TIDIED, value))
