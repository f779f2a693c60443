"""What Claude Code asks of its host: leave to use a tool, a hook's verdict, a form, a dialog.

The host answers with a `PermissionResult`, a hook's output, or one of the replies below.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import (
    UNSET,
    Open,
    OpenEnum,
    Raw,
    Snake,
    UnknownTagged,
    UnsetType,
)
from turnlog.messages.control.base import SnakeRequest
from turnlog.messages.hook_events import ElicitationAction, ElicitationMode, McpServerProvenance
from turnlog.messages.permissions import PermissionUpdate


class DecisionReasonType(OpenEnum):
    """What made Claude Code ask."""

    RULE = "rule"
    MODE = "mode"
    SUBCOMMAND_RESULTS = "subcommandResults"
    PERMISSION_PROMPT_TOOL = "permissionPromptTool"
    HOOK = "hook"
    ASYNC_AGENT = "asyncAgent"
    SANDBOX_OVERRIDE = "sandboxOverride"
    WORKING_DIR = "workingDir"
    SAFETY_CHECK = "safetyCheck"
    CLASSIFIER = "classifier"
    OTHER = "other"


class AskRule(Snake):
    """The user's own rule that demands to be asked."""

    source: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    rule_content: str | None | UnsetType = UNSET


class CanUseToolRequest(SnakeRequest, tag="can_use_tool"):
    """May this tool run? `view_call` gives the call's input a type."""

    tool_name: str
    mcp_server: McpServerProvenance | None | UnsetType = UNSET
    input: Raw | UnsetType = UNSET
    permission_suggestions: tuple[PermissionUpdate, ...] | None | UnsetType = UNSET
    """Ready-made changes for a user who does not want to be asked again."""
    blocked_path: str | None | UnsetType = UNSET
    decision_reason: str | None | UnsetType = UNSET
    decision_reason_type: DecisionReasonType | None | UnsetType = UNSET
    classifier_approvable: bool | None | UnsetType = UNSET
    suppress_always_allow_rule: bool | UnsetType = UNSET
    """Do not offer to allow it always."""
    default_to_no: bool | UnsetType = UNSET
    """Do not preselect yes."""
    matched_ask_rule: AskRule | None | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    display_name: str | None | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET
    """The call; the declarations demand it, older versions leave it out."""
    agent_id: str | None | UnsetType = UNSET
    """The sub-agent that wants it; absent in the main conversation."""
    description: str | None | UnsetType = UNSET
    requires_user_interaction: bool | UnsetType = UNSET
    """A single tap is not enough."""


class HookCallbackRequest(SnakeRequest, tag="hook_callback"):
    """Run a hook that the host registered. `view_hook_input` gives its input a type."""

    callback_id: str
    input: Raw | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET


class ElicitationRequest(SnakeRequest, tag="elicitation"):
    """An MCP server asks the user for something."""

    mcp_server_name: str
    message: str | UnsetType = UNSET
    mode: ElicitationMode | UnsetType = UNSET
    url: str | None | UnsetType = UNSET
    elicitation_id: str | None | UnsetType = UNSET
    requested_schema: dict[str, Raw] | None | UnsetType = UNSET
    property_order: tuple[str, ...] | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    display_name: str | None | UnsetType = UNSET
    description: str | None | UnsetType = UNSET


class ElicitationReply(Snake):
    """The user's answer to an MCP server."""

    action: ElicitationAction
    content: dict[str, Raw] | None | UnsetType = UNSET


class UserDialogRequest(SnakeRequest, tag="request_user_dialog"):
    """Show a dialog and wait for it; hosts say at `initialize` which kinds they can show."""

    dialog_kind: str
    payload: dict[str, Raw] | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET


class DialogCompleted(Snake, tag_field="behavior", tag="completed"):
    """The user went through with a dialog."""

    behavior: ClassVar[str]
    result: Raw | UnsetType = UNSET


class DialogCancelled(Snake, tag_field="behavior", tag="cancelled"):
    """The user closed a dialog."""

    behavior: ClassVar[str]


class UnknownDialogReply(UnknownTagged):
    """The outcome of a dialog, of an unknown kind."""

    __slots__ = ()


UserDialogReply = Open[DialogCompleted | DialogCancelled, UnknownDialogReply]
"""How a dialog ended, told by `behavior`."""
