"""What the model may use: tools, servers, agents and skills, as they come and go."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, Raw, Snake, UnsetType


class FailedMcpServer(Camel):
    """A server that could not be reached."""

    name: str | UnsetType = UNSET
    error: str | None | UnsetType = UNSET
    error_code: str | int | None | UnsetType = UNSET


class RetractedTool(Camel):
    """A tool that was taken back."""

    name: str | UnsetType = UNSET
    cause: str | None | UnsetType = UNSET


class DeferredToolsDelta(AttachmentBase, tag="deferred_tools_delta"):
    """The change in which tools can be loaded on demand."""

    added_names: tuple[str, ...] | UnsetType = UNSET
    added_lines: tuple[str, ...] | UnsetType = UNSET
    removed_names: tuple[str, ...] | UnsetType = UNSET
    readded_names: tuple[str, ...] | UnsetType = UNSET
    pending_mcp_servers: tuple[str, ...] | UnsetType = UNSET
    needs_auth_mcp_servers: tuple[str, ...] | UnsetType = UNSET
    failed_mcp_servers: tuple[FailedMcpServer, ...] | UnsetType = UNSET
    wire_hidden_names: tuple[str, ...] | UnsetType = UNSET
    surfaced_names: tuple[str, ...] | UnsetType = UNSET
    restored_names: tuple[str, ...] | UnsetType = UNSET
    retracted_tools: tuple[RetractedTool, ...] | UnsetType = UNSET


class DeferredTool(Snake):
    """The definition of a tool that is loaded on demand."""

    name: str | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    input_schema: Raw | UnsetType = UNSET
    defer_loading: bool | UnsetType = UNSET
    eager_input_streaming: bool | UnsetType = UNSET


class ToolInputCopy(Camel):
    """A tool call's input, kept as it was sent."""

    id: str | UnsetType = UNSET
    copy: str | None | UnsetType = UNSET


class DeferredToolsRecord(AttachmentBase, tag="deferred_tools_record"):
    """The definitions of the tools that are loaded on demand; the model does not see this."""

    entries: tuple[DeferredTool, ...] | UnsetType = UNSET
    tool_input_copies: tuple[ToolInputCopy, ...] | UnsetType = UNSET
    name_only_announcements: tuple[str, ...] | UnsetType = UNSET
    """The uuids of the attachments that announced names only."""
    stripped_references: tuple[str, ...] | UnsetType = UNSET
    """A tool call's id and a tool's name, with a line break between them."""


class McpInstructionsDelta(AttachmentBase, tag="mcp_instructions_delta"):
    """The change in what MCP servers tell the model about themselves."""

    added_names: tuple[str, ...] | UnsetType = UNSET
    added_blocks: tuple[str, ...] | UnsetType = UNSET
    removed_names: tuple[str, ...] | UnsetType = UNSET


class AgentListingDelta(AttachmentBase, tag="agent_listing_delta"):
    """The change in which agents can be started."""

    added_types: tuple[str, ...] | UnsetType = UNSET
    added_lines: tuple[str, ...] | UnsetType = UNSET
    removed_types: tuple[str, ...] | UnsetType = UNSET
    built_in_types: tuple[str, ...] | UnsetType = UNSET
    built_in_plugin_types: tuple[str, ...] | UnsetType = UNSET
    is_initial: bool | UnsetType = UNSET
    show_concurrency_note: bool | UnsetType = UNSET


class SkillListing(AttachmentBase, tag="skill_listing"):
    """The skills that the model may use."""

    content: str | UnsetType = UNSET
    skill_count: int | UnsetType = UNSET
    is_initial: bool | UnsetType = UNSET
    names: tuple[str, ...] | UnsetType = UNSET
    digests: tuple[str, ...] | UnsetType = UNSET


class DynamicSkill(AttachmentBase, tag="dynamic_skill"):
    """Skills that were found in a directory on the way."""

    skill_dir: str | UnsetType = UNSET
    skill_names: tuple[str, ...] | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class InvokedSkill(Camel):
    """A skill that was used before."""

    name: str | UnsetType = UNSET
    path: str | None | UnsetType = UNSET
    content: str | None | UnsetType = UNSET


class InvokedSkills(AttachmentBase, tag="invoked_skills"):
    """The skills in use, told again after a compaction."""

    skills: tuple[InvokedSkill, ...] | UnsetType = UNSET
