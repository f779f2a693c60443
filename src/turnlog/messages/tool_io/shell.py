"""Tools that run commands: Bash and PowerShell, which share their shapes."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Snake, UnsetType, field
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.tool_io.patches import PatchHunk


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
