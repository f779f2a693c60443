"""Remarks for the person who watches: texts, toasts, summaries, suggestions."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, OpenEnum, Snake, UnsetType
from turnlog.messages.sdk.base import SystemMessage, TypedMessage
from turnlog.messages.system import Level


class RefusalTrigger(OpenEnum):
    """What made another model take over."""

    REFUSAL = "refusal"


class RefusalDirection(OpenEnum):
    """Whether another model answers once, no longer, or from now on."""

    RETRY = "retry"
    REVERT = "revert"
    STICKY = "sticky"


class RefusalScope(OpenEnum):
    """What the change of model applies to: the session, or a sub-agent or side question only."""

    SESSION = "session"
    LOCAL = "local"


class _RefusalMessage(SystemMessage):
    original_model: str | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    api_refusal_category: str | None | UnsetType = UNSET
    api_refusal_explanation: str | None | UnsetType = UNSET
    refused_user_message_uuid: str | None | UnsetType = UNSET
    content: str | UnsetType = UNSET


class ModelRefusalFallbackMessage(_RefusalMessage, tag="model_refusal_fallback"):
    """A model refused, and another one took over; what was retracted is to go."""

    trigger: RefusalTrigger | UnsetType = UNSET
    direction: RefusalDirection | UnsetType = UNSET
    scope: RefusalScope | UnsetType = UNSET
    fallback_model: str | UnsetType = UNSET
    retracted_message_uuids: tuple[str, ...] | UnsetType = UNSET


class ModelRefusalNoFallbackMessage(_RefusalMessage, tag="model_refusal_no_fallback"):
    """A model refused, and none took over."""


class LocalCommandOutputMessage(SystemMessage, tag="local_command_output"):
    """What a slash command printed that the program itself carried out."""

    content: str


class InformationalMessage(SystemMessage, tag="informational"):
    """A remark, more or less loud."""

    content: str
    level: Level | UnsetType = UNSET
    tool_use_id: str | UnsetType = UNSET
    prevent_continuation: bool | UnsetType = UNSET
    tag: str | UnsetType = UNSET


class NotificationPriority(OpenEnum):
    """How urgent a notification is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    IMMEDIATE = "immediate"


class NotificationMessage(SystemMessage, tag="notification"):
    """A toast; a later one with the same key takes its place."""

    key: str | UnsetType = UNSET
    text: str
    priority: NotificationPriority | UnsetType = UNSET
    color: str | UnsetType = UNSET
    timeout_ms: Number | UnsetType = UNSET


class MemoryRecallMode(OpenEnum):
    """Whether whole files were recalled, or what a model made of them."""

    SELECT = "select"
    SYNTHESIZE = "synthesize"


class MemoryScope(OpenEnum):
    """Whose memory it is."""

    PERSONAL = "personal"
    TEAM = "team"
    ORGANIZATION = "organization"


class RecalledMemory(Snake):
    """One thing that was recalled."""

    path: str | UnsetType = UNSET
    """A file, a URL, or a mark that there is no file."""
    scope: MemoryScope | UnsetType = UNSET
    content: str | UnsetType = UNSET


class MemoryRecallMessage(SystemMessage, tag="memory_recall"):
    """What the program recalled by itself for this turn."""

    mode: MemoryRecallMode | UnsetType = UNSET
    memories: tuple[RecalledMemory, ...] | UnsetType = UNSET


class PromptSuggestionMessage(TypedMessage, tag="prompt_suggestion"):
    """What the user might say next; it comes after the result."""

    suggestion: str


class PostTurnSummaryMessage(SystemMessage, tag="post_turn_summary"):
    """Where things stand after a turn. Not documented, but seen."""

    summarizes_uuid: str | UnsetType = UNSET
    status_category: str | UnsetType = UNSET
    """`review_ready`, `blocked` and the like."""
    status_detail: str | UnsetType = UNSET
    needs_action: str | UnsetType = UNSET
