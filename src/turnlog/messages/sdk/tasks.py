"""Work in the background: sub-agents, commands, workflows and watchers, from their start to their end.

A task keeps its `task_id`; each time it is taken up again it gets a new `run_id`, and these sort by start.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Raw, Snake, UnsetType
from turnlog.messages.sdk.base import SystemMessage


class TaskEnd(OpenEnum):
    """How a task ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


class TaskEndReason(OpenEnum):
    """What ended a task from outside."""

    WORKER_RESTART = "worker_restart"


class TaskState(OpenEnum):
    """What state a task is in."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    PAUSED = "paused"


class TaskUsage(Snake):
    """What a task has used so far."""

    total_tokens: int | UnsetType = UNSET
    tool_uses: int | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET


class TaskLink(Camel):
    """A resource that a task of a server came up with."""

    uri: str
    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    annotations: dict[str, Raw] | UnsetType = UNSET


class _TaskMessage(SystemMessage):
    task_id: str
    run_id: str | UnsetType = UNSET


class TaskStartedMessage(_TaskMessage, tag="task_started"):
    """A task started."""

    tool_use_id: str | None | UnsetType = UNSET
    description: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    is_backgrounded: bool | UnsetType = UNSET
    spawn_depth: int | UnsetType = UNSET
    parent_task_id: str | UnsetType = UNSET
    task_type: str | UnsetType = UNSET
    """`local_agent`, `local_bash`, `local_workflow`, `mcp_task` and the like."""
    workflow_name: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    skip_transcript: bool | UnsetType = UNSET
    ambient: bool | UnsetType = UNSET
    """Whether it is a watcher or housekeeping, which does not count as activity."""


class TaskPatch(Snake):
    """What changed about a task; the rest stays."""

    status: TaskState | UnsetType = UNSET
    description: str | UnsetType = UNSET
    end_time: Number | UnsetType = UNSET
    total_paused_ms: Number | UnsetType = UNSET
    error: str | UnsetType = UNSET
    is_backgrounded: bool | UnsetType = UNSET


class TaskUpdatedMessage(_TaskMessage, tag="task_updated"):
    """A task changed."""

    patch: TaskPatch | UnsetType = UNSET


class TaskProgressMessage(_TaskMessage, tag="task_progress"):
    """How far a task has come."""

    tool_use_id: str | None | UnsetType = UNSET
    description: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    usage: TaskUsage | UnsetType = UNSET
    last_tool_name: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET


class TaskNotificationMessage(_TaskMessage, tag="task_notification"):
    """A task ended."""

    tool_use_id: str | None | UnsetType = UNSET
    status: TaskEnd | UnsetType = UNSET
    reason: TaskEndReason | UnsetType = UNSET
    output_file: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    usage: TaskUsage | UnsetType = UNSET
    resource_links: tuple[TaskLink, ...] | UnsetType = UNSET
    skip_transcript: bool | UnsetType = UNSET
    ambient: bool | UnsetType = UNSET


class LiveTask(Snake):
    """A task that is running."""

    task_id: str
    run_id: str | UnsetType = UNSET
    task_type: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    parent_task_id: str | UnsetType = UNSET
    ambient: bool | UnsetType = UNSET


class BackgroundTasksChangedMessage(SystemMessage, tag="background_tasks_changed"):
    """All tasks that are running now."""

    tasks: tuple[LiveTask, ...]


class TaskSummaryMessage(SystemMessage, tag="task_summary"):
    """What the turn is at, in a line; null when there is nothing to say. Not documented, but seen."""

    detail: str | None | UnsetType = UNSET
