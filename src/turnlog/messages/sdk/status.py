"""The state of the session and of its requests: what is going on, and what holds it up."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, OpenEnum, Snake, UnsetType, field
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.hook_events import AssistantMessageError
from turnlog.messages.sdk.base import SystemMessage, TypedMessage


class Status(OpenEnum):
    """What the program is busy with."""

    COMPACTING = "compacting"
    REQUESTING = "requesting"


class CompactResult(OpenEnum):
    """What came of a compaction."""

    SUCCESS = "success"
    FAILED = "failed"


class StatusMessage(SystemMessage, tag="status"):
    """What the program is busy with, or null; and the permission mode, when it changed."""

    status: Status | None | UnsetType = UNSET
    permission_mode: PermissionMode | UnsetType = field(name="permissionMode", default=UNSET)
    compact_result: CompactResult | UnsetType = UNSET
    compact_error: str | UnsetType = UNSET
    compact_output_chars: int | UnsetType = UNSET
    user_message_uuids: tuple[str, ...] | UnsetType = UNSET
    """The prompts that this turn answers, by the names the host gave them."""


class NoResponse(Snake):
    """How long an answer was waited for in vain."""

    waited_ms: Number | UnsetType = UNSET
    retry_wait_ms: Number | UnsetType = UNSET


class ApiRetryMessage(SystemMessage, tag="api_retry"):
    """A request failed and is tried again."""

    attempt: int | UnsetType = UNSET
    max_retries: int | UnsetType = UNSET
    retry_delay_ms: Number | UnsetType = UNSET
    error_status: int | None | UnsetType = UNSET
    """The HTTP status; null when there was no connection."""
    error: AssistantMessageError | UnsetType = UNSET
    no_response: NoResponse | UnsetType = UNSET


class ControlRequestStatus(OpenEnum):
    """How far a control request has come."""

    STARTED = "started"
    API_RETRY = "api_retry"


class ControlRequestProgressMessage(SystemMessage, tag="control_request_progress"):
    """A control request is still being worked on; the counters come with `api_retry`."""

    request_id: str | UnsetType = UNSET
    status: ControlRequestStatus | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    max_retries: int | UnsetType = UNSET
    retry_delay_ms: Number | UnsetType = UNSET
    error_status: int | None | UnsetType = UNSET


class ThinkingTokensMessage(SystemMessage, tag="thinking_tokens"):
    """How much the model has thought so far, by estimate."""

    estimated_tokens: int | UnsetType = UNSET
    estimated_tokens_delta: int | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET


class SessionState(OpenEnum):
    """Whether anything goes on."""

    IDLE = "idle"
    RUNNING = "running"
    REQUIRES_ACTION = "requires_action"


class SessionStateChangedMessage(SystemMessage, tag="session_state_changed"):
    """Whether anything goes on; `idle` says for certain that nothing does."""

    state: SessionState


class WorkerShuttingDownMessage(SystemMessage, tag="worker_shutting_down"):
    """The program is about to end."""

    reason: str | UnsetType = UNSET


class AuthStatusMessage(TypedMessage, tag="auth_status"):
    """How a login is getting on."""

    is_authenticating: bool | UnsetType = field(name="isAuthenticating", default=UNSET)
    output: tuple[str, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET


class ActiveGoal(Snake):
    """A goal that the session works towards by itself."""

    condition: str | UnsetType = UNSET
    iterations: int | UnsetType = UNSET
    set_at: Number | UnsetType = UNSET
    tokens_at_start: int | UnsetType = UNSET
    last_reason: str | UnsetType = UNSET


class ActiveGoalMessage(TypedMessage, tag="active_goal"):
    """The goal as it stands; null when it was given up or reached."""

    value: ActiveGoal | None | UnsetType = UNSET
