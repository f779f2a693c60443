"""What hooks did: they succeeded, failed, blocked, spoke or decided."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, Number, Raw, UnsetType, field


class _Hook(AttachmentBase):
    """Which hook it was, and what set it off."""

    hook_name: str | UnsetType = UNSET
    hook_event: str | UnsetType = UNSET


class _HookCall(_Hook):
    """One call of a hook."""

    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)
    """The tool call it was about, or an id of its own where there was none."""


class _TimedCall(_HookCall):
    """One call of a hook's command."""

    command: str | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET


class _FinishedCall(_TimedCall):
    """One call of a hook's command that ran to its end."""

    stdout: str | None | UnsetType = UNSET
    stderr: str | None | UnsetType = UNSET
    exit_code: int | None | UnsetType = UNSET


class HookSuccess(_FinishedCall, tag="hook_success"):
    """A hook that went well."""

    content: str | None | UnsetType = UNSET
    """The part of its output that the model may see."""


class HookNonBlockingError(_FinishedCall, tag="hook_non_blocking_error"):
    """A hook that failed without stopping anything."""


class BlockingError(Camel):
    """Why a hook blocked, and which command said so."""

    blocking_error: str | UnsetType = UNSET
    command: str | None | UnsetType = UNSET


class HookBlockingError(_TimedCall, tag="hook_blocking_error"):
    """A hook that refused what was about to happen."""

    blocking_error: BlockingError | UnsetType = UNSET


class HookCancelled(_TimedCall, tag="hook_cancelled"):
    """A hook that was stopped before it finished."""

    timed_out: bool | UnsetType = UNSET
    timeout_ms: Number | None | UnsetType = UNSET


class HookErrorDuringExecution(_TimedCall, tag="hook_error_during_execution"):
    """A hook that could not be run."""

    content: str | None | UnsetType = UNSET


class HookStoppedContinuation(_HookCall, tag="hook_stopped_continuation"):
    """A hook that ended the turn."""

    message: str | None | UnsetType = UNSET


class HookPermissionDecision(_HookCall, tag="hook_permission_decision"):
    """A hook's verdict on a tool call."""

    decision: str | UnsetType = UNSET


class HookDeferredTool(_HookCall, tag="hook_deferred_tool"):
    """A tool call that a hook put off."""

    tool_name: str | UnsetType = UNSET
    tool_input: Raw | UnsetType = UNSET
    permission_mode: str | None | UnsetType = UNSET


class HookAdditionalContext(_HookCall, tag="hook_additional_context"):
    """What a hook told the model."""

    content: str | tuple[str, ...] | None | UnsetType = UNSET


class HookSystemMessage(_HookCall, tag="hook_system_message"):
    """What a hook told the person."""

    content: str | tuple[str, ...] | None | UnsetType = UNSET


class AsyncHookResponse(_Hook, tag="async_hook_response"):
    """The late answer of a hook that ran in the background."""

    process_id: str | UnsetType = UNSET
    response: Raw | UnsetType = UNSET
    stdout: str | None | UnsetType = UNSET
    stderr: str | None | UnsetType = UNSET
    exit_code: int | None | UnsetType = UNSET


HOOK_ATTACHMENTS: tuple[type[AttachmentBase], ...] = (
    AsyncHookResponse,
    HookAdditionalContext,
    HookBlockingError,
    HookCancelled,
    HookDeferredTool,
    HookErrorDuringExecution,
    HookNonBlockingError,
    HookPermissionDecision,
    HookStoppedContinuation,
    HookSuccess,
    HookSystemMessage,
)
