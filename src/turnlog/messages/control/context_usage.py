"""What fills the context window, in every detail that `/context` shows."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, UnsetType
from turnlog.messages.control.base import SnakeRequest
from turnlog.messages.usage import Counters


class ContextDetail(OpenEnum):
    """How much to tell about the context."""

    SUMMARY = "summary"
    FULL = "full"


class GetContextUsageRequest(SnakeRequest, tag="get_context_usage"):
    """Return what fills the context window."""

    detail: ContextDetail | UnsetType = UNSET


class ContextCategoryId(OpenEnum):
    """What a part of the context is made of."""

    SYSTEM_PROMPT = "system_prompt"
    SYSTEM_TOOLS = "system_tools"
    MCP_TOOLS = "mcp_tools"
    MCP_INSTRUCTIONS = "mcp_instructions"
    MCP_TOOLS_DEFERRED = "mcp_tools_deferred"
    SYSTEM_TOOLS_DEFERRED = "system_tools_deferred"
    CUSTOM_AGENTS = "custom_agents"
    MEMORY_FILES = "memory_files"
    SKILLS = "skills"
    MESSAGES = "messages"
    AUTOCOMPACT_BUFFER = "autocompact_buffer"
    COMPACT_BUFFER = "compact_buffer"
    FREE_SPACE = "free_space"


class ContextCategoryKind(OpenEnum):
    """Whether a part of the context is taken, free, kept free, or not loaded yet."""

    USED = "used"
    FREE = "free"
    BUFFER = "buffer"
    DEFERRED = "deferred"


class CategoryTokens(Camel):
    """A part of the context."""

    id: ContextCategoryId | UnsetType = UNSET
    name: str
    tokens: int
    color: str | UnsetType = UNSET
    is_deferred: bool | UnsetType = UNSET
    kind: ContextCategoryKind | UnsetType = UNSET


class GridSquare(Camel):
    """One square of the picture of the context."""

    color: str | UnsetType = UNSET
    is_filled: bool | UnsetType = UNSET
    category_name: str | UnsetType = UNSET
    tokens: Number | UnsetType = UNSET
    percentage: Number | UnsetType = UNSET
    square_fullness: Number | UnsetType = UNSET


class MemoryFileTokens(Camel):
    """What a memory file takes."""

    path: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    tokens: int | UnsetType = UNSET


class McpToolTokens(Camel):
    """What a server's tool costs."""

    name: str
    server_name: str | UnsetType = UNSET
    tokens: int
    is_loaded: bool | UnsetType = UNSET


class McpInstructionTokens(Camel):
    """What a server's instructions cost."""

    server_name: str
    tokens: int


class NamedTokens(Camel):
    """What a built-in tool, a section of the system prompt or all attachments of one type cost."""

    name: str
    tokens: int
    is_loaded: bool | UnsetType = UNSET
    """Only of tools that are loaded on demand."""


class AgentTokens(Camel):
    """What an agent's description costs."""

    agent_type: str
    source: str | UnsetType = UNSET
    plugin_id: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    tokens: int


class CommandTokens(Camel):
    """What the slash commands cost."""

    total_commands: int | UnsetType = UNSET
    included_commands: int | UnsetType = UNSET
    tokens: int


class SkillTokens(Camel):
    """What a skill's description costs."""

    name: str
    source: str | UnsetType = UNSET
    plugin_name: str | UnsetType = UNSET
    plugin_id: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    tokens: int


class SkillsTokens(Camel):
    """What all skills cost."""

    total_skills: int | UnsetType = UNSET
    included_skills: int | UnsetType = UNSET
    tokens: int
    skill_frontmatter: tuple[SkillTokens, ...] | UnsetType = UNSET


class ToolCallTokens(Camel):
    """What the calls of one tool cost so far."""

    name: str
    call_tokens: int | UnsetType = UNSET
    result_tokens: int | UnsetType = UNSET


class MessageTokens(Camel):
    """What the conversation consists of."""

    tool_call_tokens: int | UnsetType = UNSET
    tool_result_tokens: int | UnsetType = UNSET
    attachment_tokens: int | UnsetType = UNSET
    assistant_message_tokens: int | UnsetType = UNSET
    user_message_tokens: int | UnsetType = UNSET
    redirected_context_tokens: int | UnsetType = UNSET
    unattributed_tokens: int | UnsetType = UNSET
    tool_calls_by_type: tuple[ToolCallTokens, ...] | UnsetType = UNSET
    attachments_by_type: tuple[NamedTokens, ...] | UnsetType = UNSET


class ContextUsageReply(Camel):
    """What fills the context window."""

    categories: tuple[CategoryTokens, ...]
    total_tokens: int
    max_tokens: int | UnsetType = UNSET
    raw_max_tokens: int | UnsetType = UNSET
    percentage: Number | UnsetType = UNSET
    grid_rows: tuple[tuple[GridSquare, ...], ...] | UnsetType = UNSET
    model: str | UnsetType = UNSET
    memory_files: tuple[MemoryFileTokens, ...] | UnsetType = UNSET
    mcp_tools: tuple[McpToolTokens, ...] | UnsetType = UNSET
    mcp_instructions: tuple[McpInstructionTokens, ...] | UnsetType = UNSET
    deferred_builtin_tools: tuple[NamedTokens, ...] | UnsetType = UNSET
    system_tools: tuple[NamedTokens, ...] | UnsetType = UNSET
    system_prompt_sections: tuple[NamedTokens, ...] | UnsetType = UNSET
    agents: tuple[AgentTokens, ...] | UnsetType = UNSET
    slash_commands: CommandTokens | UnsetType = UNSET
    skills: SkillsTokens | UnsetType = UNSET
    auto_compact_threshold: int | UnsetType = UNSET
    is_auto_compact_enabled: bool | UnsetType = UNSET
    message_breakdown: MessageTokens | UnsetType = UNSET
    api_usage: Counters | None | UnsetType = UNSET
