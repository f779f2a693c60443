"""What can come of a call."""

from __future__ import annotations

from enum import StrEnum


class CallState(StrEnum):
    """What is known about a call's outcome."""

    __hash__ = str.__hash__  # that of enums is written in Python

    UNRESOLVED = "unresolved"
    """There is no result. That is no error: the session may be live, or was ended."""
    PLACEHOLDER = "placeholder"
    """It goes on in the background; what came of it is told later."""
    RESOLVED = "resolved"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """It was stopped, or never got to run."""
    REJECTED = "rejected"
    """It was not allowed, by the user or by a rule."""
