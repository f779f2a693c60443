"""What is wrong or unknown in the data, as values.

A `Problem` never stops a reader. It says what was expected, what was found and where: a path into the line,
and the byte offset of the offending value. The offset costs a scan of the line, so it is found when asked for.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from turnlog.errors import DecodeError, MalformedError, UnknownTypeError
from turnlog.messages.base import Unknown
from turnlog.messages.spans import Path, find_span, render_path

__all__ = ["Problem", "ProblemKind"]


class ProblemKind(StrEnum):
    """What sort of thing is wrong."""

    MALFORMED = "malformed"
    """Not JSON, or not UTF-8."""
    GLUED = "glued"
    """More than one JSON value on the line."""
    BAD_TEXT = "bad-text"
    """A lone surrogate or bytes that are not UTF-8 inside a string; U+FFFD stands for them."""
    UNKNOWN_TYPE = "unknown-type"
    """An entry, subtype, block, attachment or progress of an undeclared type."""
    UNKNOWN_FIELD = "unknown-field"
    UNKNOWN_VALUE = "unknown-value"
    """A string that its enum does not list."""
    WRONG_TYPE = "wrong-type"
    """A known field holds a value of another JSON type; the field reads as absent."""
    MISSING_FIELD = "missing-field"
    TOO_LONG = "too-long"
    """A line of over 16 MB: what it says is read from its first 16 MB."""


_ERRORS: dict[ProblemKind, type[DecodeError]] = {
    ProblemKind.MALFORMED: MalformedError,
    ProblemKind.GLUED: MalformedError,
    ProblemKind.BAD_TEXT: MalformedError,
    ProblemKind.UNKNOWN_TYPE: UnknownTypeError,
}


class Problem(Struct, frozen=True, gc=False):
    """One thing that is wrong or unknown in a line."""

    kind: ProblemKind
    expected: str
    found: str
    steps: Path
    """Keys and indexes from the line's root to the value."""
    unknown: Unknown | None = None
    """The unknown thing itself, where there is one."""
    source: bytes = b""
    """The bytes that `steps` and `offset` speak of."""
    known_offset: int | None = None

    @property
    def path(self) -> str:
        """The place as a JSON path, such as `$.message.content[0]`."""
        return render_path(self.steps)

    @property
    def offset(self) -> int | None:
        """The byte offset of the value in its line, or None when it is not there."""
        if self.known_offset is not None:
            return self.known_offset
        span = find_span(self.source, self.steps)
        return None if span is None else span.start

    def error(self) -> DecodeError:
        """Return the exception that `strict=True` raises for this problem."""
        cls = _ERRORS.get(self.kind, DecodeError)
        return cls(self.expected, self.found, self.path, self.offset)

    def __str__(self) -> str:
        return str(self.error())
