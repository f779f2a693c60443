"""What a line says about itself, as a fact of the store."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from turnlog.instants import to_microseconds
from turnlog.messages import Line
from turnlog.messages.envelope import instant
from turnlog.store.rows import LineFact
from turnlog.transcripts.summary.fold import type_name

__all__ = ["bounded", "build_fact", "microseconds", "time_of"]

_MOST = (1 << 63) - 1
_type_name = lru_cache(maxsize=None)(type_name)


def build_fact(line: Line, number: int, length: int | None = None) -> LineFact:
    """Return what a line says; it must know where it stands. `length` is given if it lacks some bytes."""
    entry, at = line.entry, line.at
    if at is None:
        raise ValueError("a line without a place is nothing that can be kept")
    message = getattr(entry, "message", None)
    return LineFact(
        offset=at.offset,
        length=len(line.raw) if length is None else length,
        number=number,
        dialect=line.dialect.value,
        type=_type_name(type(entry)),
        uuid=_text(getattr(entry, "uuid", None)),
        parent_uuid=_text(getattr(entry, "parent_uuid", None)),
        session_id=_text(getattr(entry, "session_id", None)),
        agent_id=_text(getattr(entry, "agent_id", None)),
        message_id=_text(getattr(message, "id", None)),
        time=time_of(line),
        is_sidechain=getattr(entry, "is_sidechain", None) is True,
        problems=len(line.problems),
    )


def time_of(line: Line) -> int | None:
    """Return when a line was written, in microseconds since 1970; None if it does not say."""
    return microseconds(instant(getattr(line.entry, "timestamp", None)))


def microseconds(moment: datetime | None) -> int | None:
    """Return an instant in microseconds since 1970."""
    return None if moment is None else to_microseconds(moment)


def bounded(count: int) -> int:
    """Return a count that any engine can keep; one that is beyond all reason becomes the largest."""
    return max(-_MOST, min(count, _MOST))


def _text(value: object) -> str | None:
    return value if type(value) is str else None
