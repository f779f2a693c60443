"""What every hook event says, and the names of all events.

A hook is told of an event by one JSON object. Its `hook_event_name` tells the events apart; the rest of what
is declared here comes with any of them, and no version sends all of it.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Snake, TypeEnum, UnknownTagged, UnsetType
from turnlog.messages.envelope import PermissionMode


class HookEventName(TypeEnum):
    """What a hook can be told of."""

    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    NOTIFICATION = "Notification"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    STOP = "Stop"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    PRE_COMPACT = "PreCompact"
    PERMISSION_REQUEST = "PermissionRequest"
    SETUP = "Setup"
    TEAMMATE_IDLE = "TeammateIdle"
    TASK_COMPLETED = "TaskCompleted"
    CONFIG_CHANGE = "ConfigChange"
    WORKTREE_CREATE = "WorktreeCreate"
    WORKTREE_REMOVE = "WorktreeRemove"
    ELICITATION = "Elicitation"
    ELICITATION_RESULT = "ElicitationResult"
    INSTRUCTIONS_LOADED = "InstructionsLoaded"
    STOP_FAILURE = "StopFailure"
    POST_COMPACT = "PostCompact"
    PERMISSION_DENIED = "PermissionDenied"
    TASK_CREATED = "TaskCreated"
    CWD_CHANGED = "CwdChanged"
    FILE_CHANGED = "FileChanged"
    POST_TOOL_BATCH = "PostToolBatch"
    USER_PROMPT_EXPANSION = "UserPromptExpansion"
    MESSAGE_DISPLAY = "MessageDisplay"
    DIRECTORY_ADDED = "DirectoryAdded"
    PRE_MODEL_SWITCH = "PreModelSwitch"
    POST_MODEL_SWITCH = "PostModelSwitch"


class HookEffort(Snake):
    """How hard the model was to think in this turn."""

    level: str | UnsetType = UNSET
    """`low`, `medium`, `high`, `xhigh` or `max`; the SDK declares any string."""


class BaseHookInput(Snake, tag_field="hook_event_name"):
    """The fields that any hook event may carry, in the order in which they are written."""

    hook_event_name: ClassVar[str]
    session_id: str | UnsetType = UNSET
    transcript_path: str | None | UnsetType = UNSET
    cwd: str | None | UnsetType = UNSET
    scratchpad_dir: str | None | UnsetType = UNSET
    prompt_id: str | None | UnsetType = UNSET
    """What all events of one prompt have in common."""
    permission_mode: PermissionMode | None | UnsetType = UNSET
    agent_id: str | None | UnsetType = UNSET
    """The sub-agent in which it happened; absent in the main thread."""
    agent_type: str | None | UnsetType = UNSET
    """The agent's name, which may be empty; a main thread may have one too."""
    effort: HookEffort | None | UnsetType = UNSET

    @property
    def type(self) -> str:
        """The event's name, as unknown events have it, too."""
        return self.hook_event_name


class UnknownHookEvent(UnknownTagged):
    """An event that nobody declared; `type` is its name."""

    __slots__ = ()

    @property
    def hook_event_name(self) -> str | None:
        """The same, as known events have it."""
        return self.type
