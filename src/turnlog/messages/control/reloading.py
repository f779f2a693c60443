"""What a host asks Claude Code to read again: plugins, skills, output styles."""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, Snake, UnsetType, field
from turnlog.messages.control.base import SnakeRequest
from turnlog.messages.control.servers import McpServerStatus
from turnlog.messages.control.setup import AgentInfo, SlashCommand
from turnlog.messages.options import PluginConfig


class ReloadPluginsRequest(SnakeRequest, tag="reload_plugins"):
    """Read the plugins again."""

    hold_on_cache_impact: bool | UnsetType = UNSET
    """Change nothing if the prompt cache would be lost."""
    add_plugins: tuple[PluginConfig, ...] | UnsetType = UNSET
    refuse_if_busy: bool | UnsetType = UNSET


class LoadedPlugin(Snake):
    """A plugin that is loaded."""

    name: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    version: str | UnsetType = UNSET


class LspToolChange(OpenEnum):
    """What reloading does to the language-server tool."""

    ADDS = "adds"
    MAY_ADD = "may-add"
    REMOVES = "removes"
    MAY_REMOVE = "may-remove"


class CacheImpact(Snake):
    """What would make the prompt cache useless."""

    mcp_servers_added: tuple[str, ...] | UnsetType = UNSET
    mcp_servers_removed: tuple[str, ...] | UnsetType = UNSET
    lsp_tool_change: LspToolChange | None | UnsetType = UNSET


class ReloadPluginsReply(Snake):
    """What there is after plugins were read again."""

    commands: tuple[SlashCommand, ...] | UnsetType = UNSET
    agents: tuple[AgentInfo, ...] | UnsetType = UNSET
    plugins: tuple[LoadedPlugin, ...]
    mcp_servers: tuple[McpServerStatus, ...] | UnsetType = field(name="mcpServers", default=UNSET)
    error_count: int | UnsetType = UNSET
    held: bool | UnsetType = UNSET
    """Nothing was changed, for `cache_impact`'s sake."""
    cache_impact: CacheImpact | UnsetType = UNSET


class ReloadSkillsRequest(SnakeRequest, tag="reload_skills"):
    """Read the skills again."""


class ReloadSkillsReply(Snake):
    """The skills after they were read again."""

    skills: tuple[SlashCommand, ...]


class ReloadOutputStylesRequest(SnakeRequest, tag="reload_output_styles"):
    """Read the output styles again."""


class ReloadOutputStylesReply(Snake):
    """The output styles after they were read again."""

    available_output_styles: tuple[str, ...]
