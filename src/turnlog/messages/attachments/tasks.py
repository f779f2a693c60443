"""What is to be done, how far it is, and what limits it."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, Number, Raw, UnsetType


class TaskItem(Camel):
    """An item of the task list, or of the older to-do list, which has `content` in place of `subject`."""

    id: str | UnsetType = UNSET
    subject: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    content: str | UnsetType = UNSET
    active_form: str | None | UnsetType = UNSET
    status: str | UnsetType = UNSET
    owner: str | None | UnsetType = UNSET
    blocks: tuple[str, ...] | None | UnsetType = UNSET
    blocked_by: tuple[str, ...] | None | UnsetType = UNSET
    metadata: Raw | UnsetType = UNSET


class _ListReminder(AttachmentBase):
    """A reminder of a list that has not been touched for a while."""

    content: str | tuple[TaskItem, ...] | None | UnsetType = UNSET
    item_count: int | UnsetType = UNSET


class TaskReminder(_ListReminder, tag="task_reminder"):
    """A reminder of the task list."""


class TodoReminder(_ListReminder, tag="todo_reminder"):
    """A reminder of the to-do list."""


class TaskShell(Camel):
    """The command behind a background task."""

    command: str | UnsetType = UNSET
    kind: str | None | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET


class TaskStatus(AttachmentBase, tag="task_status"):
    """How a background task is getting on."""

    task_id: str | UnsetType = UNSET
    task_type: str | None | UnsetType = UNSET
    status: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    delta_summary: str | None | UnsetType = UNSET
    """What is new since the last time."""
    output_file_path: str | None | UnsetType = UNSET
    shell: TaskShell | None | UnsetType = UNSET


class GoalStatus(AttachmentBase, tag="goal_status"):
    """Whether the goal that was set has been reached."""

    condition: str | UnsetType = UNSET
    met: bool | UnsetType = UNSET
    sentinel: bool | UnsetType = UNSET
    failed: bool | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET
    iterations: int | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET
    tokens: Number | None | UnsetType = UNSET


class BudgetUsd(AttachmentBase, tag="budget_usd"):
    """What is left of the money."""

    used: Number | UnsetType = UNSET
    total: Number | UnsetType = UNSET
    remaining: Number | UnsetType = UNSET


class MaxTurnsReached(AttachmentBase, tag="max_turns_reached"):
    """The end of a run that took as many turns as it may."""

    max_turns: int | UnsetType = UNSET
    turn_count: int | UnsetType = UNSET


class TeamContext(AttachmentBase, tag="team_context"):
    """An agent's place in its team."""

    agent_id: str | UnsetType = UNSET
    agent_name: str | UnsetType = UNSET
    team_name: str | UnsetType = UNSET
    team_config_path: str | None | UnsetType = UNSET
    task_list_path: str | None | UnsetType = UNSET
    has_task_list_tools: bool | UnsetType = UNSET
