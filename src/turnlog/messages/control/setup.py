"""The first request of a host, and what Claude Code says of itself in return.

The request registers hooks, servers and agents of the host's own, and turns features on. The declarations
demand half of the reply's fields; older versions send fewer, so none is demanded here.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Raw, Snake, UnsetType
from turnlog.messages.control.base import CamelRequest
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.options import (
    AgentDefinition,
    EffortLevel,
    HookCallbackMatcher,
    McpServerToolPolicy,
    PluginConfig,
)


class SdkMcpServerSettings(Camel):
    """The settings of a server that runs in the host."""

    timeout: Number | UnsetType = UNSET
    tools: tuple[McpServerToolPolicy, ...] | UnsetType = UNSET


class SdkMcpServerManifest(Camel):
    """What a server in the host would answer first, told in advance."""

    initialize_result: dict[str, Raw]
    tools_list_result: dict[str, Raw] | UnsetType = UNSET


class ManifestOrigin(OpenEnum):
    """How a host came by its servers' manifests."""

    HOST_PER_SEND = "host_per_send"


class InitializeRequest(CamelRequest, tag="initialize"):
    """Introduce the host: its hooks, servers, agents, prompts, and what it can show."""

    hooks: dict[str, tuple[HookCallbackMatcher, ...]] | None | UnsetType = UNSET
    """By the name of the hook's event."""
    sdk_mcp_servers: tuple[str, ...] | UnsetType = UNSET
    sdk_mcp_server_configs: dict[str, SdkMcpServerSettings] | UnsetType = UNSET
    sdk_mcp_server_manifests: dict[str, SdkMcpServerManifest] | UnsetType = UNSET
    sdk_mcp_server_manifests_origin: ManifestOrigin | UnsetType = UNSET
    json_schema: dict[str, Raw] | UnsetType = UNSET
    system_prompt: tuple[str, ...] | str | UnsetType = UNSET
    append_system_prompt: str | UnsetType = UNSET
    system_prompt_snapshot: bool | UnsetType = UNSET
    plan_mode_instructions: str | UnsetType = UNSET
    tool_aliases: dict[str, str] | UnsetType = UNSET
    exclude_dynamic_sections: bool | UnsetType = UNSET
    agents: dict[str, AgentDefinition] | UnsetType = UNSET
    title: str | UnsetType = UNSET
    skills: tuple[str, ...] | UnsetType = UNSET
    prompt_suggestions: bool | UnsetType = UNSET
    agent_progress_summaries: bool | UnsetType = UNSET
    forward_subagent_text: bool | UnsetType = UNSET
    supported_dialog_kinds: tuple[str, ...] | UnsetType = UNSET
    """Absent means none."""
    per_task_stop_affordance: bool | UnsetType = UNSET
    plugins: tuple[PluginConfig, ...] | UnsetType = UNSET


class SlashCommand(Camel):
    """A slash command or a skill that the user may call."""

    name: str
    description: str | UnsetType = UNSET
    argument_hint: str | UnsetType = UNSET
    aliases: tuple[str, ...] | UnsetType = UNSET
    builtin: bool | UnsetType = UNSET


class AgentInfo(Camel):
    """An agent that can be called."""

    name: str
    description: str | UnsetType = UNSET
    model: str | UnsetType = UNSET


class ModelInfo(Camel):
    """A model to choose from; `value` is what `set_model` takes."""

    value: str
    resolved_model: str | UnsetType = UNSET
    display_name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    supports_effort: bool | UnsetType = UNSET
    supported_effort_levels: tuple[EffortLevel, ...] | UnsetType = UNSET
    supports_adaptive_thinking: bool | UnsetType = UNSET
    supports_fast_mode: bool | UnsetType = UNSET
    supports_auto_mode: bool | UnsetType = UNSET


class ApiProvider(OpenEnum):
    """Who serves the model."""

    FIRST_PARTY = "firstParty"
    BEDROCK = "bedrock"
    VERTEX = "vertex"
    FOUNDRY = "foundry"
    ANTHROPIC_AWS = "anthropicAws"
    ANTHROPIC_GOOGLE_CLOUD = "anthropicGoogleCloud"
    MANTLE = "mantle"
    GATEWAY = "gateway"


class AccountInfo(Camel):
    """Whose account pays."""

    email: str | UnsetType = UNSET
    organization: str | UnsetType = UNSET
    subscription_type: str | UnsetType = UNSET
    token_source: str | UnsetType = UNSET
    api_key_source: str | UnsetType = UNSET
    api_provider: ApiProvider | UnsetType = UNSET


class ManifestOutcome(OpenEnum):
    """What became of a manifest that was told in advance."""

    PARKED = "parked"
    ALREADY_CONNECTED = "already_connected"
    PROTOCOL_VERSION_MISMATCH = "protocol_version_mismatch"
    MALFORMED = "malformed"
    NOT_HONOURED = "not_honoured"


class FastModeState(OpenEnum):
    """Whether answers come in fast mode."""

    OFF = "off"
    COOLDOWN = "cooldown"
    ON = "on"


class FastModeDisabledReason(OpenEnum):
    """Why fast mode is not to be had."""

    FREE = "free"
    PREFERENCE = "preference"
    EXTRA_USAGE_DISABLED = "extra_usage_disabled"
    NETWORK_ERROR = "network_error"
    UNKNOWN = "unknown"
    NOT_FIRST_PARTY = "not_first_party"
    DISABLED_BY_ENV = "disabled_by_env"
    MODEL_NOT_ALLOWED = "model_not_allowed"
    SDK_OPT_IN_REQUIRED = "sdk_opt_in_required"
    PENDING = "pending"


class InitializeReply(Snake):
    """What Claude Code can do, and for whom."""

    commands: tuple[SlashCommand, ...] | UnsetType = UNSET
    agents: tuple[AgentInfo, ...] | UnsetType = UNSET
    output_style: str | UnsetType = UNSET
    available_output_styles: tuple[str, ...] | UnsetType = UNSET
    models: tuple[ModelInfo, ...] | UnsetType = UNSET
    account: AccountInfo | UnsetType = UNSET
    pid: int | UnsetType = UNSET
    """Seen on the wire but not in the declarations, as the three that follow."""
    current_permission_mode: PermissionMode | UnsetType = UNSET
    session_state: str | None | UnsetType = UNSET
    capabilities: tuple[str, ...] | UnsetType = UNSET
    hooks_applied: bool | UnsetType = UNSET
    hook_on_failure_supported: bool | UnsetType = UNSET
    plugins_applied: bool | UnsetType = UNSET
    sdk_mcp_manifests_parked: dict[str, ManifestOutcome] | UnsetType = UNSET
    claude_code_version: str | UnsetType = UNSET
    fast_mode_state: FastModeState | UnsetType = UNSET
    fast_mode_disabled_reason: FastModeDisabledReason | None | UnsetType = UNSET
