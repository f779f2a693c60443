"""Tools by which an agent plans its work and agrees it with the user.

To-do lists (TodoWrite, and the Task… tools that replaced it), plan mode, goals and worktrees, schedules and
remote triggers, questions with options, and messages, files and notifications to the user.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Raw, Snake, UnsetType, field


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


class EnterPlanModeInput(Snake):
    """A wish to plan before acting; it has no parameters."""


class EnterPlanModeResult(Camel):
    """Plan mode is on."""

    message: str


class AllowedPrompt(Camel):
    """A kind of command that the plan asks leave for."""

    tool: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET


class ExitPlanModeInput(Camel):
    """A plan that is ready for the user; newer versions read it from a file."""

    plan: str | UnsetType = UNSET
    plan_file_path: str | UnsetType = UNSET
    allowed_prompts: tuple[AllowedPrompt, ...] | UnsetType = UNSET
    launch_swarm: bool | UnsetType = UNSET
    teammate_count: int | UnsetType = UNSET
    push_to_remote: bool | UnsetType = UNSET
    remote_session_id: str | UnsetType = UNSET
    remote_session_url: str | UnsetType = UNSET
    remote_session_title: str | UnsetType = UNSET


class ExitPlanModeResult(Camel):
    """A plan that the user, or the team's leader, was shown."""

    plan: str | None
    is_agent: bool | UnsetType = UNSET
    file_path: str | UnsetType = UNSET
    has_task_tool: bool | UnsetType = UNSET
    plan_was_edited: bool | UnsetType = UNSET
    awaiting_leader_approval: bool | UnsetType = UNSET
    request_id: str | UnsetType = UNSET


class ProposeGoalInput(Snake):
    """A condition that the session is to work towards."""

    condition: str
    ask_user: bool | UnsetType = UNSET


class ProposeGoalResult(Camel):
    """A goal that was proposed."""

    condition: str
    ask_user: bool


class EnterWorktreeInput(Snake):
    """A git worktree to make, or one to go on in."""

    name: str | UnsetType = UNSET
    path: str | UnsetType = UNSET


class EnterWorktreeResult(Camel):
    """A worktree in which the session now works."""

    worktree_path: str
    worktree_branch: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class ExitWorktreeInput(Snake):
    """What is to become of the worktree."""

    action: str
    """`keep` or `remove`."""
    discard_changes: bool | UnsetType = UNSET


class ExitWorktreeResult(Camel):
    """A worktree that the session left."""

    action: str
    original_cwd: str
    worktree_path: str | UnsetType = UNSET
    worktree_branch: str | UnsetType = UNSET
    tmux_session_name: str | UnsetType = UNSET
    discarded_files: int | UnsetType = UNSET
    discarded_commits: int | UnsetType = UNSET
    message: str | UnsetType = UNSET


class CronCreateInput(Snake):
    """A prompt to run at set times."""

    cron: str
    prompt: str | UnsetType = UNSET
    recurring: bool | UnsetType = UNSET
    durable: bool | UnsetType = UNSET


class CronCreateResult(Camel):
    """A job that was set up."""

    id: str
    human_schedule: str
    recurring: bool | UnsetType = UNSET
    durable: bool | UnsetType = UNSET
    next_fire_at: Number | UnsetType = UNSET


class CronDeleteInput(Snake):
    """A job to cancel."""

    id: str


class CronDeleteResult(Camel):
    """A job that was cancelled."""

    id: str
    ended_loop_wakeup: bool | UnsetType = UNSET


class CronListInput(Snake):
    """A question for all jobs; it has no parameters."""


class CronJob(Camel):
    """A prompt that runs at set times."""

    id: str
    cron: str | UnsetType = UNSET
    human_schedule: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    recurring: bool | UnsetType = UNSET
    durable: bool | UnsetType = UNSET
    next_fire_at: Number | UnsetType = UNSET


class CronListResult(Camel):
    """All jobs."""

    jobs: tuple[CronJob, ...]


class ScheduleWakeupInput(Camel):
    """When the agent wants to be woken, or that it no longer does."""

    delay_seconds: Number | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    stop: bool | UnsetType = UNSET
    noop: bool | UnsetType = UNSET


class ScheduleWakeupResult(Camel):
    """When the agent will be woken."""

    scheduled_for: Number
    clamped_delay_seconds: Number | UnsetType = UNSET
    was_clamped: bool | UnsetType = UNSET
    stopped: bool | UnsetType = UNSET
    cancelled_wakeups: int | UnsetType = UNSET


class RemoteTriggerInput(Snake):
    """A request about the triggers that start sessions on other machines."""

    action: str
    """`list`, `get`, `create`, `update`, `run`, `create_webhook_trigger`, `list_runs` or `get_run_log`."""
    trigger_id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    cursor: str | UnsetType = UNSET
    body: dict[str, Raw] | UnsetType = UNSET


class RemoteTriggerResult(Camel):
    """The service's answer, its body as text."""

    status: int
    json: str
    summary: str | UnsetType = UNSET


class Option(Camel):
    """One of the answers to choose from."""

    label: str
    description: str | UnsetType = UNSET
    preview: str | UnsetType = UNSET


class Question(Camel):
    """A question with its options."""

    question: str
    header: str | UnsetType = UNSET
    options: tuple[Option, ...] | UnsetType = UNSET
    multi_select: bool | UnsetType = UNSET


class Annotation(Camel):
    """What the user added to an answer."""

    preview: str | UnsetType = UNSET
    notes: str | UnsetType = UNSET


class QuestionMetadata(Camel):
    """Where the questions come from."""

    source: str | UnsetType = UNSET


class AskUserQuestionInput(Camel):
    """Questions for the user; a permission prompt may have filled in the answers."""

    questions: tuple[Question, ...] | UnsetType = UNSET
    question: str | UnsetType = UNSET
    """Models also send a lone question, which the tool refuses."""
    answers: dict[str, str] | UnsetType = UNSET
    annotations: dict[str, Annotation] | UnsetType = UNSET
    metadata: QuestionMetadata | UnsetType = UNSET


class AskUserQuestionResult(Camel):
    """The user's answers, by question; those to a question with several choices are joined by commas."""

    questions: tuple[Question, ...]
    answers: dict[str, str]
    response: str | UnsetType = UNSET
    """What the user wrote instead of answering."""
    annotations: dict[str, Annotation] | UnsetType = UNSET
    afk_timeout_ms: Number | UnsetType = UNSET


class SendUserMessageInput(Snake):
    """A message for the user, perhaps with files."""

    message: str
    attachments: tuple[str, ...] | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`normal` or `proactive`."""


class Attachment(Camel):
    """A file that went with a message."""

    path: str
    size: int | UnsetType = UNSET
    is_image: bool | UnsetType = UNSET
    file_uuid: str | UnsetType = field(name="file_uuid", default=UNSET)
    media_type: str | UnsetType = field(name="media_type", default=UNSET)


class SendUserMessageResult(Camel):
    """A message that was sent."""

    message: str
    attachments: tuple[Attachment, ...] | UnsetType = UNSET
    sent_at: str | UnsetType = UNSET


class SendUserFileInput(Snake):
    """Files for the user."""

    files: tuple[str, ...]
    caption: str | UnsetType = UNSET
    display: str | UnsetType = UNSET
    """`render` or `attach`."""
    status: str | UnsetType = UNSET
    """`normal` or `proactive`."""


class SendUserFileResult(Camel):
    """Files that were sent."""

    attachments: tuple[Attachment, ...]
    caption: str | UnsetType = UNSET
    sent_at: str | UnsetType = UNSET


class PushNotificationInput(Snake):
    """A notification for the user's devices."""

    message: str
    status: str | UnsetType = UNSET
    """`proactive`."""


class PushNotificationResult(Camel):
    """Where a notification was sent, or why nowhere."""

    message: str | UnsetType = UNSET
    push_sent: bool
    local_sent: bool | UnsetType = UNSET
    disabled_reason: str | UnsetType = UNSET
    """`config_off`, `user_present` or `no_transport`."""
    sent_at: str | UnsetType = UNSET


class ReadNotificationsInput(Snake):
    """A question for what arrived meanwhile; it has no parameters."""


class Notification(Snake):
    """Something that arrived while the agent was busy."""

    notification_id: str
    origin: str | UnsetType = UNSET
    queued_at: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    arrived_at: str | UnsetType = UNSET


class ReadNotificationsResult(Snake):
    """What arrived, and how much is left."""

    notifications: tuple[Notification, ...]
    remaining: int | UnsetType = UNSET
    read_at: str | UnsetType = UNSET
