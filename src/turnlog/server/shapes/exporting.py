"""What giving out sessions would take out."""

from __future__ import annotations

from msgspec import Struct

from turnlog.export.secret_patterns import Kind


class TakenOut(Struct, frozen=True, gc=False, kw_only=True):
    """Removed values of one kind."""

    kind: Kind
    times: int
    values: int
    """How many distinct ones."""
    examples: tuple[str, ...]
    """A few of them; for secrets, only the beginning."""


class ExportPreview(Struct, frozen=True, gc=False, kw_only=True):
    """What an export would be."""

    name: str
    """The file's name."""
    sessions: int
    size: int
    """In bytes; for several sessions, the total before compression."""
    taken_out: tuple[TakenOut, ...]
    """By kind; empty if nothing is removed."""
