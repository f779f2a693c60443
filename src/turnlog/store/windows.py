"""What is told of answers and of files as a whole."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["AnswerUse", "FileCounts"]


class FileCounts(Struct, frozen=True, gc=False, kw_only=True):
    """How much there is, of the newest generations."""

    sessions: int
    only_here: int
    """Sessions of which no file is still outside."""
    files: int
    bytes: int
    lines: int


class AnswerUse(Struct, frozen=True, gc=False, kw_only=True):
    """What one answer of the model used, as it is counted."""

    message_id: str
    """The API's id, or what stands for it."""
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: int | None
    """In pico-dollars; None if its model has no price."""
