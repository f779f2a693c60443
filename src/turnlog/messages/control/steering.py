"""What a host changes while a session runs: its mode, model, name, turns and tasks."""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, Snake, UnsetType
from turnlog.messages.control.base import SnakeRequest
from turnlog.messages.envelope import PermissionMode


class InterruptRequest(SnakeRequest, tag="interrupt"):
    """Stop the current turn."""

    cancel_queued: bool | UnsetType = UNSET
    """Drop the queued prompts, too."""


class InterruptReply(Snake):
    """Which prompts outlive an interrupt, by uuid; older versions answer with nothing."""

    still_queued: tuple[str, ...] | UnsetType = UNSET
    cancelled: tuple[str, ...] | UnsetType = UNSET


class CancelAsyncMessageRequest(SnakeRequest, tag="cancel_async_message"):
    """Drop a queued prompt."""

    message_uuid: str


class SetPermissionModeRequest(SnakeRequest, tag="set_permission_mode"):
    """Change what may be done without asking."""

    mode: PermissionMode


class SetModelRequest(SnakeRequest, tag="set_model"):
    """Change the model; null, nothing and `default` all go back to the default."""

    model: str | None | UnsetType = UNSET


class ThinkingShown(OpenEnum):
    """How much of the model's thinking is shown."""

    SUMMARIZED = "summarized"
    OMITTED = "omitted"
    HIGHLIGHTS = "highlights"


class SetMaxThinkingTokensRequest(SnakeRequest, tag="set_max_thinking_tokens"):
    """Change the budget for thinking; null goes back to the session's own, and has to be sent."""

    max_thinking_tokens: int | None | UnsetType = UNSET
    thinking_display: ThinkingShown | None | UnsetType = UNSET


class TitleSource(OpenEnum):
    """Who chose a title."""

    REMOTE = "remote"
    HOST = "host"


class RenameSessionRequest(SnakeRequest, tag="rename_session"):
    """Give the session a title."""

    title: str
    source: TitleSource | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    """The session that is meant: no other may be renamed by mistake."""


class SetColorRequest(SnakeRequest, tag="set_color"):
    """Give the session an accent colour."""

    color: str


class SetHasSubscribersRequest(SnakeRequest, tag="set_has_subscribers"):
    """Say whether anybody watches the stream."""

    has_subscribers: bool | None


class StopTaskRequest(SnakeRequest, tag="stop_task"):
    """Stop a task."""

    task_id: str


class BackgroundTasksRequest(SnakeRequest, tag="background_tasks"):
    """Move a call's task to the background, or all tasks."""

    tool_use_id: str | UnsetType = UNSET


class GetTaskOutputRequest(SnakeRequest, tag="get_task_output"):
    """Return the last 8 KiB that a background command wrote."""

    task_id: str


class TaskOutputReply(Snake):
    """The end of what a background command wrote."""

    output: str
    total_bytes: int | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


class GetBinaryVersionRequest(SnakeRequest, tag="get_binary_version"):
    """Return the program's version."""


class ListModelsRequest(SnakeRequest, tag="list_models"):
    """Return the models to choose from."""


class GetPlanRequest(SnakeRequest, tag="get_plan"):
    """Return the plan; its fields are not documented."""
