"""Every hook event in one open union, and by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turnlog.messages.base import Open
from turnlog.messages.hook_events.agents import (
    StopFailureHookInput,
    StopHookInput,
    SubagentStartHookInput,
    SubagentStopHookInput,
    TaskCompletedHookInput,
    TaskCreatedHookInput,
    TeammateIdleHookInput,
)
from turnlog.messages.hook_events.base import (
    BaseHookInput,
    UnknownHookEvent,
)
from turnlog.messages.hook_events.files import (
    ConfigChangeHookInput,
    CwdChangedHookInput,
    DirectoryAddedHookInput,
    FileChangedHookInput,
    InstructionsLoadedHookInput,
    WorktreeCreateHookInput,
    WorktreeRemoveHookInput,
)
from turnlog.messages.hook_events.prompts import (
    ElicitationHookInput,
    ElicitationResultHookInput,
    MessageDisplayHookInput,
    NotificationHookInput,
    UserPromptExpansionHookInput,
    UserPromptSubmitHookInput,
)
from turnlog.messages.hook_events.session import (
    PostCompactHookInput,
    PostModelSwitchHookInput,
    PreCompactHookInput,
    PreModelSwitchHookInput,
    SessionEndHookInput,
    SessionStartHookInput,
    SetupHookInput,
)
from turnlog.messages.hook_events.tools import (
    PermissionDeniedHookInput,
    PermissionRequestHookInput,
    PostToolBatchHookInput,
    PostToolUseFailureHookInput,
    PostToolUseHookInput,
    PreToolUseHookInput,
)

HookInput = Open[
    PreToolUseHookInput
    | PostToolUseHookInput
    | PostToolUseFailureHookInput
    | NotificationHookInput
    | UserPromptSubmitHookInput
    | SessionStartHookInput
    | SessionEndHookInput
    | StopHookInput
    | SubagentStartHookInput
    | SubagentStopHookInput
    | PreCompactHookInput
    | PermissionRequestHookInput
    | SetupHookInput
    | TeammateIdleHookInput
    | TaskCompletedHookInput
    | ConfigChangeHookInput
    | WorktreeCreateHookInput
    | WorktreeRemoveHookInput
    | ElicitationHookInput
    | ElicitationResultHookInput
    | InstructionsLoadedHookInput
    | StopFailureHookInput
    | PostCompactHookInput
    | PermissionDeniedHookInput
    | TaskCreatedHookInput
    | CwdChangedHookInput
    | FileChangedHookInput
    | PostToolBatchHookInput
    | UserPromptExpansionHookInput
    | MessageDisplayHookInput
    | DirectoryAddedHookInput
    | PreModelSwitchHookInput
    | PostModelSwitchHookInput,
    UnknownHookEvent,
]
"""What a hook is told, told apart by `hook_event_name`."""

HOOK_EVENTS: Mapping[str, type[BaseHookInput]] = MappingProxyType(
    {
        "PreToolUse": PreToolUseHookInput,
        "PostToolUse": PostToolUseHookInput,
        "PostToolUseFailure": PostToolUseFailureHookInput,
        "Notification": NotificationHookInput,
        "UserPromptSubmit": UserPromptSubmitHookInput,
        "SessionStart": SessionStartHookInput,
        "SessionEnd": SessionEndHookInput,
        "Stop": StopHookInput,
        "SubagentStart": SubagentStartHookInput,
        "SubagentStop": SubagentStopHookInput,
        "PreCompact": PreCompactHookInput,
        "PermissionRequest": PermissionRequestHookInput,
        "Setup": SetupHookInput,
        "TeammateIdle": TeammateIdleHookInput,
        "TaskCompleted": TaskCompletedHookInput,
        "ConfigChange": ConfigChangeHookInput,
        "WorktreeCreate": WorktreeCreateHookInput,
        "WorktreeRemove": WorktreeRemoveHookInput,
        "Elicitation": ElicitationHookInput,
        "ElicitationResult": ElicitationResultHookInput,
        "InstructionsLoaded": InstructionsLoadedHookInput,
        "StopFailure": StopFailureHookInput,
        "PostCompact": PostCompactHookInput,
        "PermissionDenied": PermissionDeniedHookInput,
        "TaskCreated": TaskCreatedHookInput,
        "CwdChanged": CwdChangedHookInput,
        "FileChanged": FileChangedHookInput,
        "PostToolBatch": PostToolBatchHookInput,
        "UserPromptExpansion": UserPromptExpansionHookInput,
        "MessageDisplay": MessageDisplayHookInput,
        "DirectoryAdded": DirectoryAddedHookInput,
        "PreModelSwitch": PreModelSwitchHookInput,
        "PostModelSwitch": PostModelSwitchHookInput,
    }
)
"""The type of each event by its name."""
