"""Events between the program and the person: prompts, notices, questions of servers, text on the screen."""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, Raw, UnsetType
from turnlog.messages.hook_events.base import BaseHookInput


class NotificationType(OpenEnum):
    """What a notice is about."""

    PERMISSION_PROMPT = "permission_prompt"
    IDLE_PROMPT = "idle_prompt"
    ELICITATION_DIALOG = "elicitation_dialog"
    AUTH_SUCCESS = "auth_success"


class PromptSource(OpenEnum):
    """Who sent a prompt."""

    USER = "user"
    SDK = "sdk"
    SYSTEM = "system"
    LOOP_WAKEUP = "loop_wakeup"
    SCHEDULE_WAKEUP = "schedule_wakeup"
    POLL_EVENT = "poll_event"


class PromptExpansionType(OpenEnum):
    """What was written out into a prompt."""

    SLASH_COMMAND = "slash_command"
    MCP_PROMPT = "mcp_prompt"


class ElicitationMode(OpenEnum):
    """How a server asks: with a form, or on a web page."""

    FORM = "form"
    URL = "url"


class ElicitationAction(OpenEnum):
    """What became of a server's question."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class NotificationHookInput(BaseHookInput, tag="Notification"):
    """The person is told something."""

    message: str | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    notification_type: NotificationType | None | UnsetType = UNSET
    """Absent in older versions."""


class UserPromptSubmitHookInput(BaseHookInput, tag="UserPromptSubmit"):
    """A prompt was sent."""

    prompt: str | UnsetType = UNSET
    source: PromptSource | None | UnsetType = UNSET
    session_title: str | None | UnsetType = UNSET


class UserPromptExpansionHookInput(BaseHookInput, tag="UserPromptExpansion"):
    """A command was written out into a prompt."""

    expansion_type: PromptExpansionType | UnsetType = UNSET
    command_name: str | UnsetType = UNSET
    command_args: str | None | UnsetType = UNSET
    command_source: str | None | UnsetType = UNSET
    prompt: str | UnsetType = UNSET


class MessageDisplayHookInput(BaseHookInput, tag="MessageDisplay"):
    """Lines of an answer are about to be shown."""

    turn_id: str | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    """The message's own uuid, not the API's id."""
    index: int | UnsetType = UNSET
    """Counts the pieces of one message."""
    final: bool | UnsetType = UNSET
    delta: str | UnsetType = UNSET


class _Elicitation(BaseHookInput):
    """Which server asks, and how."""

    mcp_server_name: str | UnsetType = UNSET
    mode: ElicitationMode | None | UnsetType = UNSET
    elicitation_id: str | None | UnsetType = UNSET


class ElicitationHookInput(_Elicitation, tag="Elicitation"):
    """A server asks the person something."""

    message: str | UnsetType = UNSET
    url: str | None | UnsetType = UNSET
    requested_schema: Raw | UnsetType = UNSET


class ElicitationResultHookInput(_Elicitation, tag="ElicitationResult"):
    """The person has answered a server."""

    action: ElicitationAction | UnsetType = UNSET
    content: Raw | UnsetType = UNSET
