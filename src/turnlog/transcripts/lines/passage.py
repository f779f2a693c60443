"""A piece of a line's text that is searched, and what it is."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

__all__ = ["Passage", "PassageKind", "build_passages"]


class PassageKind(StrEnum):
    """What a passage is."""

    __hash__ = str.__hash__  # that of enums is written in Python

    PROMPT = "prompt"
    ANSWER = "answer"
    THINKING = "thinking"
    TOOL_INPUT = "tool-input"
    TOOL_OUTPUT = "tool-output"
    SUMMARY = "summary"
    """What a compaction left."""
    NOTICE = "notice"
    """What the program says, or put in the user's mouth."""
    TITLE = "title"
    HOOK = "hook"
    """What a hook was told or said."""


class Passage(Struct, frozen=True, gc=False):
    """A piece of a line's text."""

    kind: PassageKind
    block: int
    """Which block of the line's content it is; 0 where there are none."""
    text: str
    is_error: bool = False


def build_passages(kind: PassageKind, text: object, is_error: bool = False) -> list[Passage]:
    """Return the one passage of a line that says one thing; none if it says nothing."""
    return [Passage(kind, 0, text, is_error)] if isinstance(text, str) and text.strip() else []
