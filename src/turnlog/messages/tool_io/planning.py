"""Tools that change how an agent works: plan mode, goals and worktrees."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Snake, UnsetType


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
