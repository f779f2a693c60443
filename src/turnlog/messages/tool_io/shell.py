"""Tools that run commands, and those that look after what runs in the background.

Bash and PowerShell share their shapes. BashOutput and KillShell spoke of shells only; TaskOutput and TaskStop
replaced them, and speak of every kind of background task; AgentOutputTool was a stage in between, for agents.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Snake, UnsetType, field
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.tool_io.files import PatchHunk


class CommandInput(Snake):
    """A command for a shell."""

    command: str
    description: str | UnsetType = UNSET
    timeout: Number | UnsetType = UNSET
    """Milliseconds."""
    run_in_background: bool | UnsetType = UNSET
    dangerously_disable_sandbox: bool | UnsetType = field(name="dangerouslyDisableSandbox", default=UNSET)
    sandbox: bool | UnsetType = UNSET
    """How early versions asked for the sandbox."""


class BashInput(CommandInput):
    """A command for the shell."""


class PowerShellInput(CommandInput):
    """A command for PowerShell; its result is a `BashResult`."""


class CommitKind(OpenEnum):
    """How a commit came to be."""

    COMMITTED = "committed"
    AMENDED = "amended"
    CHERRY_PICKED = "cherry-picked"


class GitCommit(Camel):
    """A commit that the command made."""

    sha: str
    kind: CommitKind | UnsetType = UNSET
    branch: str | UnsetType = UNSET


class GitPush(Camel):
    """A push that the command made."""

    branch: str


class BranchAction(OpenEnum):
    """How one branch was brought into another."""

    MERGED = "merged"
    REBASED = "rebased"


class GitBranch(Camel):
    """A merge or rebase that the command made."""

    ref: str
    action: BranchAction | UnsetType = UNSET


class PullRequestAction(OpenEnum):
    """What was done to a pull request."""

    CREATED = "created"
    EDITED = "edited"
    MERGED = "merged"
    COMMENTED = "commented"
    CLOSED = "closed"
    REOPENED = "reopened"
    READY = "ready"
    DRAFT = "draft"
    AUTO_MERGE_ENABLED = "auto-merge-enabled"
    AUTO_MERGE_DISABLED = "auto-merge-disabled"


class PullRequest(Camel):
    """A pull request that the command touched."""

    number: int
    url: str | UnsetType = UNSET
    action: PullRequestAction | UnsetType = UNSET


class GitOperation(Camel):
    """What the command did in git, as read from its output."""

    commit: GitCommit | UnsetType = UNSET
    push: GitPush | UnsetType = UNSET
    branch: GitBranch | UnsetType = UNSET
    pr: PullRequest | UnsetType = UNSET


class EditedFile(Camel):
    """A file that a command changed."""

    file_path: str
    hunks: tuple[PatchHunk, ...] | UnsetType = UNSET
    created: bool | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET


class ShellEdits(Camel):
    """The files that a command changed, where the setting `bashEditDiffEnabled` asks for them."""

    files: tuple[EditedFile, ...] | UnsetType = UNSET
    changed_files: tuple[str, ...] | UnsetType = UNSET
    more_files: int | UnsetType = UNSET
    """How many changed files `files` leaves out."""
    shared: bool | UnsetType = UNSET
    unavailable: bool | UnsetType = UNSET


class BashResult(Camel):
    """What a command printed, and how it ended."""

    stdout: str
    stderr: str
    interrupted: bool | UnsetType = UNSET
    is_image: bool | UnsetType = UNSET
    """Whether `stdout` is an image as a data URL."""
    raw_output_path: str | UnsetType = UNSET
    background_task_id: str | UnsetType = UNSET
    backgrounded_by_user: bool | UnsetType = UNSET
    assistant_auto_backgrounded: bool | UnsetType = UNSET
    timed_out_after_ms: Number | UnsetType = UNSET
    background_cwd_hint: str | UnsetType = UNSET
    background_ends_with_final_response: bool | UnsetType = UNSET
    background_wakes_owner: bool | UnsetType = UNSET
    dangerously_disable_sandbox: bool | UnsetType = UNSET
    sandbox: bool | UnsetType = UNSET
    return_code_interpretation: str | UnsetType = UNSET
    no_output_expected: bool | UnsetType = UNSET
    structured_content: tuple[ContentBlock, ...] | UnsetType = UNSET
    persisted_output_path: str | UnsetType = UNSET
    """Where the whole output is, when it was too long to keep here."""
    persisted_output_size: int | UnsetType = UNSET
    stale_read_file_state_hint: str | UnsetType = UNSET
    gh_rate_limit_hint: str | UnsetType = UNSET
    git_operation: GitOperation | UnsetType = UNSET
    bash_edit_diff: ShellEdits | UnsetType = UNSET


class BashOutputInput(Snake):
    """A background shell to read from."""

    bash_id: str
    filter: str | UnsetType = UNSET
    """A regular expression that the lines must match."""
    block: bool | UnsetType = UNSET
    wait_up_to: Number | UnsetType = UNSET


class BashOutputResult(Camel):
    """What a background shell printed since it was last read."""

    shell_id: str
    command: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`running`, `completed`, `failed` or `killed`."""
    exit_code: int | None | UnsetType = UNSET
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    stdout_lines: int | UnsetType = UNSET
    stderr_lines: int | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    filter_pattern: str | UnsetType = UNSET


class KillShellInput(Snake):
    """A background shell to end."""

    shell_id: str


class KillShellResult(Snake):
    """A background shell that was ended."""

    shell_id: str
    message: str | UnsetType = UNSET
    success: bool | UnsetType = UNSET


class AgentOutputInput(Snake):
    """A background agent to read from."""

    agent_id: str = field(name="agentId")
    block: bool | UnsetType = UNSET
    wait_up_to: Number | UnsetType = UNSET
    """Seconds."""


class TaskOutputInput(Snake):
    """A background task to read from, or to wait for."""

    task_id: str
    block: bool | UnsetType = UNSET
    timeout: Number | UnsetType = UNSET
    """Milliseconds."""


class RetrievalStatus(OpenEnum):
    """Whether a background task's output is all there."""

    SUCCESS = "success"
    TIMEOUT = "timeout"
    NOT_READY = "not_ready"


class BackgroundTask(Snake):
    """A background task and what it gave so far."""

    task_id: str
    task_type: str | UnsetType = UNSET
    """`local_bash`, `local_agent`, `remote_agent` and the like."""
    status: str | UnsetType = UNSET
    """`pending`, `running`, `completed`, `failed` or `killed`."""
    description: str | UnsetType = UNSET
    output: str | UnsetType = UNSET
    exit_code: int | None | UnsetType = field(name="exitCode", default=UNSET)
    error: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    result: str | UnsetType = UNSET
    is_raw_transcript: bool | UnsetType = field(name="isRawTranscript", default=UNSET)


class TaskOutputResult(Snake):
    """A background task's state; `task` is null when nothing could be read."""

    retrieval_status: RetrievalStatus
    task: BackgroundTask | None | UnsetType = UNSET


class TaskStopInput(Snake):
    """A background task to end."""

    task_id: str | UnsetType = UNSET
    shell_id: str | UnsetType = UNSET
    """The older name, still accepted."""


class TaskStopResult(Snake):
    """A background task that was ended."""

    message: str
    task_id: str
    task_type: str | UnsetType = UNSET
    command: str | UnsetType = UNSET


class WebSocketSource(Snake):
    """A WebSocket whose messages are events."""

    url: str
    protocols: tuple[str, ...] | UnsetType = UNSET


class MonitorInput(Snake):
    """Something to watch: each line that the command prints is an event."""

    description: str | UnsetType = UNSET
    command: str | UnsetType = UNSET
    ws: WebSocketSource | UnsetType = UNSET
    timeout_ms: Number | UnsetType = UNSET
    persistent: bool | UnsetType = UNSET


class MonitorResult(Camel):
    """A watch that was started."""

    task_id: str
    timeout_ms: Number
    persistent: bool | UnsetType = UNSET
