"""Tools by which an agent keeps its to-do list: TodoWrite, and the Task… tools that replaced it."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, OpenEnum, Raw, UnsetType, field


class TodoItem(Camel):
    """An item of a to-do list."""

    content: str
    status: str | UnsetType = UNSET
    """`pending`, `in_progress` or `completed`."""
    active_form: str | UnsetType = UNSET
    """What to show while the item is in progress."""
    id: str | UnsetType = UNSET
    """Early versions numbered and ranked the items."""
    priority: str | UnsetType = UNSET


class TodoWriteInput(Camel):
    """A whole to-do list, in place of the one before."""

    todos: tuple[TodoItem, ...]


class TodoWriteResult(Camel):
    """A to-do list before and after."""

    old_todos: tuple[TodoItem, ...]
    new_todos: tuple[TodoItem, ...]
    verification_nudge_needed: bool | UnsetType = UNSET


class TodoReadInput(Camel):
    """A question for the to-do list; early versions had this tool."""


class TaskStatus(OpenEnum):
    """How far a task is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    DELETED = "deleted"


class TaskCreateInput(Camel):
    """A task to add."""

    subject: str
    description: str | UnsetType = UNSET
    active_form: str | UnsetType = UNSET
    metadata: dict[str, Raw] | UnsetType = UNSET


class CreatedTask(Camel):
    """A new task's number and subject."""

    id: str
    subject: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class TaskCreateResult(Camel):
    """A task that was added."""

    task: CreatedTask


class TaskGetInput(Camel):
    """A task to look at."""

    task_id: str


class TaskDetails(Camel):
    """All that is known of a task."""

    id: str
    subject: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    status: TaskStatus | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    blocks: tuple[str, ...] | UnsetType = UNSET
    blocked_by: tuple[str, ...] | UnsetType = UNSET


class TaskGetResult(Camel):
    """A task, or null when there is none of that number."""

    task: TaskDetails | None


class TaskUpdateInput(Camel):
    """Changes to a task."""

    task_id: str
    subject: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    active_form: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`pending`, `in_progress`, `completed` or `deleted`."""
    owner: str | UnsetType = UNSET
    add_blocks: tuple[str, ...] | UnsetType = UNSET
    add_blocked_by: tuple[str, ...] | UnsetType = UNSET
    metadata: dict[str, Raw] | UnsetType = UNSET


class StatusChange(Camel):
    """A task's status before and after."""

    before: TaskStatus = field(name="from")
    after: TaskStatus = field(name="to")


class TaskUpdateResult(Camel):
    """A task that was changed, or why it was not."""

    success: bool
    task_id: str
    updated_fields: tuple[str, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET
    status_change: StatusChange | UnsetType = UNSET
    verification_nudge_needed: bool | UnsetType = UNSET


class TaskListInput(Camel):
    """A question for all tasks; it has no parameters."""


class ListedTask(Camel):
    """A task as a list shows it."""

    id: str
    subject: str | UnsetType = UNSET
    status: TaskStatus | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    blocked_by: tuple[str, ...] | UnsetType = UNSET


class TaskListResult(Camel):
    """All tasks."""

    tasks: tuple[ListedTask, ...]
