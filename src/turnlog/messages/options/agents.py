"""Sub-agents that are defined for one query."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, UnsetType, field
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.options.enums import ConfigScope, EffortLevel
from turnlog.messages.options.mcp import McpServerConfig

AgentMcpServerSpec = str | dict[str, McpServerConfig]
"""The name of a server that is configured elsewhere, or servers of the agent's own by name."""


class AgentDefinition(Camel):
    """A sub-agent: when to use it, and what it is told."""

    description: str | UnsetType = UNSET
    """When to use the agent. It and `prompt` are needed; `validation` says so."""
    tools: tuple[str, ...] | UnsetType = UNSET
    """Absent means all tools of the parent."""
    disallowed_tools: tuple[str, ...] | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    """An alias such as `sonnet`, or a model's full name."""
    mcp_servers: tuple[AgentMcpServerSpec, ...] | UnsetType = UNSET
    critical_system_reminder: str | UnsetType = field(name="criticalSystemReminder_EXPERIMENTAL", default=UNSET)
    skills: tuple[str, ...] | UnsetType = UNSET
    initial_prompt: str | UnsetType = UNSET
    max_turns: int | None | UnsetType = UNSET
    auto_compact_window: int | UnsetType = UNSET
    background: bool | UnsetType = UNSET
    omit_claude_md: bool | UnsetType = UNSET
    memory: ConfigScope | UnsetType = UNSET
    effort: EffortLevel | int | UnsetType = UNSET
    permission_mode: PermissionMode | UnsetType = UNSET
    observer: str | UnsetType = UNSET
    observer_message: str | UnsetType = UNSET
