"""The life of a background task, put together from the messages that tell of it.

A task starts, makes progress, changes by patches and ends; each message says a part. One that is resumed keeps
its id and gets a new run, which starts afresh.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages.base import UNSET, Number, UnsetType
from turnlog.messages.sdk.tasks import (
    TaskEnd,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskState,
    TaskUpdatedMessage,
    TaskUsage,
)

TaskMessage = TaskStartedMessage | TaskProgressMessage | TaskUpdatedMessage | TaskNotificationMessage


class Task(Struct, frozen=True, kw_only=True):
    """What is known of a task so far."""

    task_id: str
    run_id: str | UnsetType = UNSET
    status: TaskState | TaskEnd | UnsetType = UNSET
    description: str | UnsetType = UNSET
    task_type: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET
    parent_task_id: str | UnsetType = UNSET
    is_backgrounded: bool | UnsetType = UNSET
    usage: TaskUsage | UnsetType = UNSET
    last_tool_name: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    output_file: str | UnsetType = UNSET
    end_time: Number | UnsetType = UNSET
    total_paused_ms: Number | UnsetType = UNSET
    error: str | UnsetType = UNSET

    @property
    def ended(self) -> bool:
        """Whether the task is over."""
        return isinstance(self.status, TaskEnd) or self.status in (
            TaskState.COMPLETED,
            TaskState.FAILED,
            TaskState.KILLED,
        )


def merge_task(task: Task | None, message: TaskMessage) -> Task:
    """Return what is known of a task after one more message; a patch changes only what it names."""
    if task is None or (message.run_id is not UNSET and message.run_id != task.run_id):
        task = Task(task_id=message.task_id, run_id=message.run_id)
    told: Struct | UnsetType = message.patch if isinstance(message, TaskUpdatedMessage) else message
    if not isinstance(told, Struct):
        return task
    news = {name: getattr(told, name) for name in told.__struct_fields__ if name in Task.__struct_fields__}
    known = {name: value for name, value in news.items() if value is not UNSET}
    if isinstance(message, TaskStartedMessage):
        known.setdefault("status", TaskState.RUNNING)
    return replace(task, **known)
