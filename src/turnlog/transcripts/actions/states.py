"""What is known of the outcome of an action, whatever tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from turnlog.transcripts.calls.states import CallState


class ActionState(StrEnum):
    """What is known about an action's outcome."""

    __hash__ = str.__hash__  # that of enums is written in Python

    OK = "ok"
    FAILED = "failed"
    RUNNING = "running"
    """It goes on in the background, or just now."""
    WAITING = "waiting"
    """For a permission or an answer of the person."""
    REJECTED = "rejected"
    """It was not allowed, or was stopped."""
    UNRESOLVED = "unresolved"
    """Nothing tells what came of it."""
    NOTE = "note"
    """It has no outcome."""


CALL_STATES: Mapping[CallState, ActionState] = MappingProxyType(
    {
        CallState.RESOLVED: ActionState.OK,
        CallState.FAILED: ActionState.FAILED,
        CallState.PLACEHOLDER: ActionState.RUNNING,
        CallState.REJECTED: ActionState.REJECTED,
        CallState.INTERRUPTED: ActionState.REJECTED,
        CallState.UNRESOLVED: ActionState.UNRESOLVED,
    }
)
"""What the state of a call is among those of actions."""

FAILED_HOOKS = frozenset({"StopFailure"})
"""Hook events that are failures by themselves."""

TOLD_FAILURES = frozenset({"PostToolUseFailure", "StopFailure"})
"""Hook events that tell of failures: errors by category (spec 002 §5). That of a call is the call's own."""
