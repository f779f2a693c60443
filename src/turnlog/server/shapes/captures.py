"""What was captured of a session besides its transcript, as the API tells it."""

from __future__ import annotations

from msgspec import Struct


class CapturedFile(Struct, frozen=True, gc=False, kw_only=True):
    """A captured file with lines of the session."""

    source: str
    kind: str
    """`stream`, `mirror`, or `file` for Claude Code's own file where a mirror has more."""
    path: str
    present: bool
    """Whether the original file still exists."""
    lines: int
    bytes: int
    tells: bool
    """Whether the session's messages come from it."""
    href: str
    """Where its lines are."""


class CapturedFiles(Struct, frozen=True, gc=False, kw_only=True):
    """All of them."""

    items: tuple[CapturedFile, ...]
    revision: int
