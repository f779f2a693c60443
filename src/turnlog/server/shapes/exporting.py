"""What giving out sessions would take out."""

from __future__ import annotations

from msgspec import Struct

from turnlog.export.redaction.findings import Kind

__all__ = ["ExportPreview", "TakenOut"]


class TakenOut(Struct, frozen=True, gc=False, kw_only=True):
    """What of one kind is taken out."""

    kind: Kind
    times: int
    values: int
    """How many distinct ones."""
    examples: tuple[str, ...]
    """A few of them; of secrets only how they begin."""


class ExportPreview(Struct, frozen=True, gc=False, kw_only=True):
    """What an export would be."""

    name: str
    """Of the file."""
    sessions: int
    size: int
    """In bytes; of several sessions together, before they are packed."""
    taken_out: tuple[TakenOut, ...]
    """By kind; nothing if nothing is to be."""
