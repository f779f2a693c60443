"""The header of a session: what it runs with. It comes again at the start of each turn."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, OpenEnum, Snake, UnsetType, field
from turnlog.messages.control.requests import FastModeDisabledReason, FastModeState, LoadedPlugin
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.options import EffortLevel
from turnlog.messages.sdk.base import SystemMessage


class ApiKeySource(OpenEnum):
    """Where the credential came from."""

    USER = "user"
    PROJECT = "project"
    ORG = "org"
    TEMPORARY = "temporary"
    OAUTH = "oauth"
    ANTHROPIC_API_KEY = "ANTHROPIC_API_KEY"
    API_KEY_HELPER = "apiKeyHelper"
    LOGIN_MANAGED_KEY = "/login managed key"
    NONE = "none"
    ENV_VAR = "env_var"
    """As spec 001 has it; so is the next."""
    CONFIG_FILE = "config_file"


class ViewMode(OpenEnum):
    """How the conversation is shown."""

    FOCUS = "focus"
    DEFAULT = "default"


class McpServerState(Snake):
    """A server, and whether it is connected."""

    name: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    source: str | UnsetType = UNSET


class ManagedLock(Snake):
    """The administrator's rule that decides about a plugin."""

    plugin_enabled: bool | UnsetType = UNSET
    name: str | UnsetType = UNSET
    marketplace: str | UnsetType = UNSET


class PluginLoadError(Snake):
    """A plugin, or a part of one, that was not loaded."""

    plugin: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    managed_lock: ManagedLock | UnsetType = UNSET


class MemoryPaths(Snake):
    """Where the program keeps what it remembers by itself."""

    auto: str | UnsetType = UNSET


class StartupTiming(Snake):
    """How long each step of the start took; the steps have names of the program's own."""

    entrypoint: str | UnsetType = UNSET
    warm_spare_claimed: bool | UnsetType = UNSET
    phases: dict[str, Number] | UnsetType = UNSET
    time_origin_ms: Number | UnsetType = UNSET
    phase_start_ms: dict[str, Number] | UnsetType = UNSET


class SystemInitMessage(SystemMessage, tag="init"):
    """What a session runs with."""

    cwd: str | UnsetType = UNSET
    tools: tuple[str, ...] | UnsetType = UNSET
    mcp_servers: tuple[McpServerState, ...] | UnsetType = UNSET
    model: str | UnsetType = UNSET
    permission_mode: PermissionMode | UnsetType = field(name="permissionMode", default=UNSET)
    slash_commands: tuple[str, ...] | UnsetType = UNSET
    terminal_slash_commands: tuple[str, ...] | UnsetType = UNSET
    api_key_source: ApiKeySource | UnsetType = field(name="apiKeySource", default=UNSET)
    betas: tuple[str, ...] | UnsetType = UNSET
    claude_code_version: str | UnsetType = UNSET
    output_style: str | UnsetType = UNSET
    agents: tuple[str, ...] | UnsetType = UNSET
    skills: tuple[str, ...] | UnsetType = UNSET
    plugins: tuple[LoadedPlugin, ...] | UnsetType = UNSET
    plugin_errors: tuple[PluginLoadError, ...] | UnsetType = UNSET
    capabilities: tuple[str, ...] | UnsetType = UNSET
    effort: EffortLevel | None | UnsetType = UNSET
    view_mode: ViewMode | UnsetType = UNSET
    fast_mode_state: FastModeState | UnsetType = UNSET
    fast_mode_disabled_reason: FastModeDisabledReason | UnsetType = UNSET
    analytics_disabled: bool | UnsetType = UNSET
    """Not documented, as the three that follow; versions since 2.1.142 write them."""
    product_feedback_disabled: bool | UnsetType = UNSET
    memory_paths: MemoryPaths | UnsetType = UNSET
    startup_timing: StartupTiming | UnsetType = UNSET
    additional_directories: tuple[str, ...] | UnsetType = UNSET
    """Not documented either, as all that follow."""
    messaging_socket_path: str | None | UnsetType = UNSET
    original_cwd: str | UnsetType = UNSET
    per_turn_effort_active: bool | UnsetType = UNSET
    ultrathink_available: bool | UnsetType = UNSET
    ultrathink_typed_raises: bool | UnsetType = UNSET
    user_message_uuids: tuple[str, ...] | UnsetType = UNSET
