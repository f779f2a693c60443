"""What a hook can answer to one kind of event, beyond what any hook can answer."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, OpenEnum, Raw, UnknownTagged, UnsetType, field
from turnlog.messages.hook_events.prompts import ElicitationAction
from turnlog.messages.permissions import PermissionBehavior, PermissionResult


class HookPermissionDecision(OpenEnum):
    """A hook's verdict on a tool call: yes, no, let the person decide, or later."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    DEFER = "defer"


class _Specific(Camel, tag_field="hookEventName"):
    """An answer to one kind of event."""

    hook_event_name: ClassVar[str]


class _Context(_Specific):
    """An answer that can tell the model something."""

    additional_context: str | None | UnsetType = UNSET


class _Watch(_Specific):
    """An answer that says which paths to watch from now on."""

    watch_paths: tuple[str, ...] | None | UnsetType = UNSET


class PreToolUseHookSpecificOutput(_Context, tag="PreToolUse"):
    """Whether a tool may run, and with what input."""

    permission_decision: HookPermissionDecision | None | UnsetType = UNSET
    permission_decision_reason: str | None | UnsetType = UNSET
    updated_input: Raw | UnsetType = UNSET


class PostToolUseHookSpecificOutput(_Context, tag="PostToolUse"):
    """What to make of a tool's response."""

    classifier_context: str | None | UnsetType = UNSET
    """What the classifier of the automatic mode is told."""
    updated_tool_output: Raw | UnsetType = UNSET
    updated_mcp_tool_output: Raw | UnsetType = field(name="updatedMCPToolOutput", default=UNSET)
    """The older form, for tools of MCP servers only."""


class PostToolUseFailureHookSpecificOutput(_Context, tag="PostToolUseFailure"):
    """What to say of a failure."""


class PostToolBatchHookSpecificOutput(_Context, tag="PostToolBatch"):
    """What to say of all calls together."""


class PermissionRequestHookSpecificOutput(_Specific, tag="PermissionRequest"):
    """The answer in the person's place."""

    decision: PermissionResult | UnsetType = UNSET


class PermissionDeniedHookSpecificOutput(_Specific, tag="PermissionDenied"):
    """Whether the model may try again."""

    retry: bool | None | UnsetType = UNSET


class UserPromptSubmitHookSpecificOutput(_Context, tag="UserPromptSubmit"):
    """What to add to a prompt."""

    session_title: str | None | UnsetType = UNSET
    suppress_original_prompt: bool | None | UnsetType = UNSET
    """Leave the prompt out of the text that says it was blocked."""


class UserPromptExpansionHookSpecificOutput(_Context, tag="UserPromptExpansion"):
    """What to add to an expanded command."""

    suppress_original_prompt: bool | None | UnsetType = UNSET


class SessionStartHookSpecificOutput(_Context, tag="SessionStart"):
    """What a session starts with."""

    initial_user_message: str | None | UnsetType = UNSET
    session_title: str | None | UnsetType = UNSET
    watch_paths: tuple[str, ...] | None | UnsetType = UNSET
    reload_skills: bool | None | UnsetType = UNSET


class SetupHookSpecificOutput(_Context, tag="Setup"):
    """What to say of a setup."""


class StopHookSpecificOutput(_Context, tag="Stop"):
    """What to say at the end of a turn."""


class SubagentStartHookSpecificOutput(_Context, tag="SubagentStart"):
    """What to tell a sub-agent."""


class SubagentStopHookSpecificOutput(_Context, tag="SubagentStop"):
    """What to say at a sub-agent's end."""


class NotificationHookSpecificOutput(_Context, tag="Notification"):
    """What to say of a notice."""


class PreModelSwitchHookSpecificOutput(_Specific, tag="PreModelSwitch"):
    """Whether the model may change; here nothing can be put off."""

    permission_decision: PermissionBehavior | None | UnsetType = UNSET
    permission_decision_reason: str | None | UnsetType = UNSET


class PostModelSwitchHookSpecificOutput(_Context, tag="PostModelSwitch"):
    """What to tell the new model."""


class ElicitationOutput(_Specific):
    """An answer to a server, in the person's place."""

    action: ElicitationAction | None | UnsetType = UNSET
    content: Raw | UnsetType = UNSET


class ElicitationHookSpecificOutput(ElicitationOutput, tag="Elicitation"):
    """The answer that spares the person the question."""


class ElicitationResultHookSpecificOutput(ElicitationOutput, tag="ElicitationResult"):
    """The answer that replaces the person's."""


class CwdChangedHookSpecificOutput(_Watch, tag="CwdChanged"):
    """What to watch in the new directory."""


class FileChangedHookSpecificOutput(_Watch, tag="FileChanged"):
    """What to watch after a change."""


class WorktreeCreateHookSpecificOutput(_Specific, tag="WorktreeCreate"):
    """Where the worktree was made."""

    worktree_path: str | UnsetType = UNSET


class MessageDisplayHookSpecificOutput(_Specific, tag="MessageDisplay"):
    """What to show instead."""

    display_content: str | None | UnsetType = UNSET


class UnknownHookSpecificOutput(UnknownTagged):
    """An answer to an event that has none, or that nobody declared; `type` is the event's name."""

    __slots__ = ()


HookSpecificOutput = Open[
    PreToolUseHookSpecificOutput
    | PostToolUseHookSpecificOutput
    | PostToolUseFailureHookSpecificOutput
    | PostToolBatchHookSpecificOutput
    | PermissionRequestHookSpecificOutput
    | PermissionDeniedHookSpecificOutput
    | UserPromptSubmitHookSpecificOutput
    | UserPromptExpansionHookSpecificOutput
    | SessionStartHookSpecificOutput
    | SetupHookSpecificOutput
    | StopHookSpecificOutput
    | SubagentStartHookSpecificOutput
    | SubagentStopHookSpecificOutput
    | NotificationHookSpecificOutput
    | PreModelSwitchHookSpecificOutput
    | PostModelSwitchHookSpecificOutput
    | ElicitationHookSpecificOutput
    | ElicitationResultHookSpecificOutput
    | CwdChangedHookSpecificOutput
    | FileChangedHookSpecificOutput
    | WorktreeCreateHookSpecificOutput
    | MessageDisplayHookSpecificOutput,
    UnknownHookSpecificOutput,
]
"""Any answer to one kind of event, told apart by `hookEventName`."""
