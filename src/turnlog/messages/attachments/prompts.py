"""What reached the conversation from outside while the model was working."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, Number, Raw, UnsetType, field
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.origin import MessageOrigin


class TaskUsage(Camel):
    """What a finished background task used."""

    total_tokens: Number | None | UnsetType = UNSET
    tool_uses: int | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET


class QueuedCommand(AttachmentBase, tag="queued_command"):
    """A message that waited in the queue and was delivered within a turn."""

    prompt: str | tuple[ContentBlock, ...] | UnsetType = UNSET
    command_mode: str | None | UnsetType = UNSET
    """`prompt`, `task-notification` and the like."""
    origin: MessageOrigin | str | None | UnsetType = UNSET
    timestamp: str | None | UnsetType = UNSET
    """When it was put into the queue."""
    source_uuid: str | None | UnsetType = field(name="source_uuid", default=UNSET)
    delivery_id: str | None | UnsetType = field(name="delivery_id", default=UNSET)
    reminder_id: str | None | UnsetType = UNSET
    is_meta: bool | UnsetType = UNSET
    human_turn: bool | UnsetType = UNSET
    image_paste_ids: tuple[int | str, ...] | None | UnsetType = UNSET
    file_attachments: Raw | UnsetType = UNSET
    usage: TaskUsage | None | UnsetType = UNSET


class AgentMention(AttachmentBase, tag="agent_mention"):
    """An agent that the prompt named."""

    agent_type: str | UnsetType = UNSET


class CommandPermissions(AttachmentBase, tag="command_permissions"):
    """What a slash command or a skill allows while it runs."""

    allowed_tools: tuple[str, ...] | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET


class ForkBriefing(AttachmentBase, tag="fork_briefing"):
    """What a forked agent was told about its task."""

    text: str | UnsetType = UNSET


class StructuredOutput(AttachmentBase, tag="structured_output"):
    """The final answer in the shape that the caller asked for."""

    data: Raw | UnsetType = UNSET


class WorkflowKeywordRequest(AttachmentBase, tag="workflow_keyword_request"):
    """A prompt that asked for a workflow by its keyword."""


class WorkflowSizeGuidelineChange(AttachmentBase, tag="workflow_size_guideline_change"):
    """A change of the rule on how large a workflow may be."""
