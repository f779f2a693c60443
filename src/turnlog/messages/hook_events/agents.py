"""Events of agents at work: turns end, sub-agents come and go, teams share tasks."""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, Snake, UnsetType
from turnlog.messages.hook_events.base import BaseHookInput


class AssistantMessageError(OpenEnum):
    """Why the API gave no answer."""

    AUTHENTICATION_FAILED = "authentication_failed"
    BILLING_ERROR = "billing_error"
    RATE_LIMIT = "rate_limit"
    INVALID_REQUEST = "invalid_request"
    SERVER_ERROR = "server_error"
    UNKNOWN_ERROR = "unknown"
    MAX_OUTPUT_TOKENS = "max_output_tokens"
    OAUTH_ORG_NOT_ALLOWED = "oauth_org_not_allowed"
    MODEL_NOT_FOUND = "model_not_found"
    OVERLOADED = "overloaded"
    ACCOUNT_ON_HOLD = "account_on_hold"
    VERIFICATION_REQUIRED = "verification_required"
    CLOUD_CREDENTIAL_ERROR = "cloud_credential_error"


class BackgroundTaskSummary(Snake):
    """Work that still goes on in the background."""

    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    """`shell`, `subagent` and the like."""
    status: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    command: str | None | UnsetType = UNSET
    agent_type: str | None | UnsetType = UNSET
    server: str | None | UnsetType = UNSET
    tool: str | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET


class SessionCronSummary(Snake):
    """A prompt that will come by itself."""

    id: str | UnsetType = UNSET
    schedule: str | UnsetType = UNSET
    recurring: bool | None | UnsetType = UNSET
    prompt: str | None | UnsetType = UNSET


class _Stop(BaseHookInput):
    """An agent is about to stop."""

    stop_hook_active: bool | UnsetType = UNSET
    """It only went on because a hook like this one had told it to."""
    last_assistant_message: str | None | UnsetType = UNSET
    background_tasks: tuple[BackgroundTaskSummary, ...] | None | UnsetType = UNSET
    session_crons: tuple[SessionCronSummary, ...] | None | UnsetType = UNSET


class StopHookInput(_Stop, tag="Stop"):
    """The main agent is about to stop."""


class StopFailureHookInput(BaseHookInput, tag="StopFailure"):
    """A turn ended because the API gave no answer."""

    error: AssistantMessageError | UnsetType = UNSET
    error_details: str | None | UnsetType = UNSET
    last_assistant_message: str | None | UnsetType = UNSET


class SubagentStartHookInput(BaseHookInput, tag="SubagentStart"):
    """A sub-agent begins; `agent_id` and `agent_type` say which."""


class SubagentStopHookInput(_Stop, tag="SubagentStop"):
    """A sub-agent is about to stop; older versions do not say which."""

    agent_transcript_path: str | None | UnsetType = UNSET


class TeammateIdleHookInput(BaseHookInput, tag="TeammateIdle"):
    """A member of a team has nothing to do."""

    teammate_name: str | UnsetType = UNSET
    team_name: str | None | UnsetType = UNSET


class _TaskEvent(BaseHookInput):
    """An item of the task list, and whose it is."""

    task_id: str | UnsetType = UNSET
    task_subject: str | UnsetType = UNSET
    task_description: str | None | UnsetType = UNSET
    teammate_name: str | None | UnsetType = UNSET
    team_name: str | None | UnsetType = UNSET


class TaskCreatedHookInput(_TaskEvent, tag="TaskCreated"):
    """A task joins the list."""


class TaskCompletedHookInput(_TaskEvent, tag="TaskCompleted"):
    """A task of the list is done."""
