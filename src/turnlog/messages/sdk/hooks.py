"""One run of a hook, from its start to its end; `hook_id` ties the messages together."""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, UnsetType
from turnlog.messages.sdk.base import SystemMessage


class HookOutcome(OpenEnum):
    """How a hook ended."""

    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"


class _HookMessage(SystemMessage):
    hook_id: str | UnsetType = UNSET
    """Absent in versions before 0.2.18."""
    hook_name: str | UnsetType = UNSET
    hook_event: str | UnsetType = UNSET


class HookStartedMessage(_HookMessage, tag="hook_started"):
    """A hook started."""


class HookProgressMessage(_HookMessage, tag="hook_progress"):
    """What a running hook has written so far."""

    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    output: str | UnsetType = UNSET


class HookResponseMessage(_HookMessage, tag="hook_response"):
    """A hook ended."""

    output: str | UnsetType = UNSET
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    exit_code: int | None | UnsetType = UNSET
    outcome: HookOutcome | UnsetType = UNSET
