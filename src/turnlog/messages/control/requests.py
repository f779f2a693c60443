"""Every request of the control protocol, each beside the reply that it gets.

A request is told by its `subtype`. Most are spelled in snake_case, a few in camelCase; both bases share the
tag, so that one union can hold them all. Names that the SDK's declarations mention without saying what they
hold stay unknown on purpose. Many requests are merely acknowledged, or answered with an object that nobody
declared; those replies stay raw.

They stand here by subject: what the host is asked, how a session is set up and steered, MCP servers, settings
and permissions, hooks, files, what is loaded again, and what was used.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, Raw, UnsetType, field

import turnlog.messages.sdk.messages as sdk
from turnlog.messages import options
from turnlog.messages.base import Camel, Number, Open, OpenEnum, Snake, UnknownNamed, UnknownTagged
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.hook_events import ElicitationAction, ElicitationMode, HookJSONOutput, McpServerProvenance
from turnlog.messages.message import Counters
from turnlog.messages.permissions import PermissionBehavior, PermissionResult, PermissionUpdate
from turnlog.messages.tool_io.services import McpResourceContents


class SnakeRequest(Snake, tag_field="subtype"):
    """A request whose fields are spelled in snake_case."""

    subtype: ClassVar[str]


class CamelRequest(Camel, tag_field="subtype"):
    """A request whose fields are spelled in camelCase."""

    subtype: ClassVar[str]


class UnknownControlRequest(UnknownTagged):
    """A request of an undeclared subtype, which stands in `type`."""

    @property
    def subtype(self) -> str | None:
        """The same, as known requests have it."""
        return self.type


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
    decision_reason_type: sdk.DecisionReasonType | None | UnsetType = UNSET
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


UserDialogReply = Open[DialogCompleted | DialogCancelled, UnknownDialogReply]
"""How a dialog ended, told by `behavior`."""


class SdkMcpServerSettings(Camel):
    """The settings of a server that runs in the host."""

    timeout: Number | UnsetType = UNSET
    tools: tuple[options.McpServerToolPolicy, ...] | UnsetType = UNSET


class SdkMcpServerManifest(Camel):
    """What a server in the host would answer first, told in advance."""

    initialize_result: dict[str, Raw]
    tools_list_result: dict[str, Raw] | UnsetType = UNSET


class ManifestOrigin(OpenEnum):
    """How a host came by its servers' manifests."""

    HOST_PER_SEND = "host_per_send"


class InitializeRequest(CamelRequest, tag="initialize"):
    """Introduce the host: its hooks, servers, agents, prompts, and what it can show."""

    hooks: dict[str, tuple[options.HookCallbackMatcher, ...]] | None | UnsetType = UNSET
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
    agents: dict[str, options.AgentDefinition] | UnsetType = UNSET
    title: str | UnsetType = UNSET
    skills: tuple[str, ...] | UnsetType = UNSET
    prompt_suggestions: bool | UnsetType = UNSET
    agent_progress_summaries: bool | UnsetType = UNSET
    forward_subagent_text: bool | UnsetType = UNSET
    supported_dialog_kinds: tuple[str, ...] | UnsetType = UNSET
    """Absent means none."""
    per_task_stop_affordance: bool | UnsetType = UNSET
    plugins: tuple[options.PluginConfig, ...] | UnsetType = UNSET


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
    supported_effort_levels: tuple[options.EffortLevel, ...] | UnsetType = UNSET
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


class InitializeReply(Snake):
    """What Claude Code can do, and for whom."""

    commands: tuple[sdk.SlashCommand, ...] | UnsetType = UNSET
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
    fast_mode_state: sdk.FastModeState | UnsetType = UNSET
    fast_mode_disabled_reason: sdk.FastModeDisabledReason | None | UnsetType = UNSET


class InterruptRequest(SnakeRequest, tag="interrupt"):
    """Stop the current turn."""

    cancel_queued: bool | UnsetType = UNSET
    """Drop the queued prompts, too."""


class InterruptReply(Snake):
    """Which prompts outlive an interrupt, by uuid; older versions answer with nothing."""

    still_queued: tuple[str, ...] | UnsetType = UNSET
    cancelled: tuple[str, ...] | UnsetType = UNSET


class CancelAsyncMessageRequest(SnakeRequest, tag="cancel_async_message"):
    """Drop a queued prompt."""

    message_uuid: str


class SetPermissionModeRequest(SnakeRequest, tag="set_permission_mode"):
    """Change what may be done without asking."""

    mode: PermissionMode


class SetModelRequest(SnakeRequest, tag="set_model"):
    """Change the model; null, nothing and `default` all go back to the default."""

    model: str | None | UnsetType = UNSET


class ThinkingShown(OpenEnum):
    """How much of the model's thinking is shown."""

    SUMMARIZED = "summarized"
    OMITTED = "omitted"
    HIGHLIGHTS = "highlights"


class SetMaxThinkingTokensRequest(SnakeRequest, tag="set_max_thinking_tokens"):
    """Change the budget for thinking; null goes back to the session's own, and has to be sent."""

    max_thinking_tokens: int | None | UnsetType = UNSET
    thinking_display: ThinkingShown | None | UnsetType = UNSET


class TitleSource(OpenEnum):
    """Who chose a title."""

    REMOTE = "remote"
    HOST = "host"


class RenameSessionRequest(SnakeRequest, tag="rename_session"):
    """Give the session a title."""

    title: str
    source: TitleSource | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    """The session that is meant: no other may be renamed by mistake."""


class SetColorRequest(SnakeRequest, tag="set_color"):
    """Give the session an accent colour."""

    color: str


class SetHasSubscribersRequest(SnakeRequest, tag="set_has_subscribers"):
    """Say whether anybody watches the stream."""

    has_subscribers: bool | None


class StopTaskRequest(SnakeRequest, tag="stop_task"):
    """Stop a task."""

    task_id: str


class BackgroundTasksRequest(SnakeRequest, tag="background_tasks"):
    """Move a call's task to the background, or all tasks."""

    tool_use_id: str | UnsetType = UNSET


class GetTaskOutputRequest(SnakeRequest, tag="get_task_output"):
    """Return the last 8 KiB that a background command wrote."""

    task_id: str


class TaskOutputReply(Snake):
    """The end of what a background command wrote."""

    output: str
    total_bytes: int | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


class GetBinaryVersionRequest(SnakeRequest, tag="get_binary_version"):
    """Return the program's version."""


class ListModelsRequest(SnakeRequest, tag="list_models"):
    """Return the models to choose from."""


class GetPlanRequest(SnakeRequest, tag="get_plan"):
    """Return the plan; its fields are not documented."""


class McpMessageRequest(SnakeRequest, tag="mcp_message"):
    """One JSON-RPC message for, or from, a server that runs in the host."""

    server_name: str
    message: Raw


class McpMessageReply(Snake):
    """What the server answered: a JSON-RPC message; nothing to a notification."""

    mcp_response: Raw | UnsetType = UNSET


class McpSetServersRequest(SnakeRequest, tag="mcp_set_servers"):
    """Put these servers in place of all that were added while running."""

    servers: dict[str, options.McpServerConfig]


class McpSetServersReply(Snake):
    """Which servers came, went, or failed."""

    added: tuple[str, ...] | UnsetType = UNSET
    removed: tuple[str, ...] | UnsetType = UNSET
    errors: dict[str, str] | UnsetType = UNSET


class McpStatusRequest(CamelRequest, tag="mcp_status"):
    """Return the state of all servers."""

    live_reply: bool | UnsetType = UNSET


class McpConnection(OpenEnum):
    """How a server is doing."""

    CONNECTED = "connected"
    FAILED = "failed"
    NEEDS_AUTH = "needs-auth"
    PENDING = "pending"
    DISABLED = "disabled"


class McpImplementation(Camel):
    """What a server calls itself."""

    name: str
    version: str | UnsetType = UNSET


class McpToolHints(Camel):
    """What a tool says about its own effects."""

    read_only: bool | UnsetType = UNSET
    destructive: bool | UnsetType = UNSET
    open_world: bool | UnsetType = UNSET


class McpServerTool(Camel):
    """A tool that a server offers."""

    name: str
    description: str | UnsetType = UNSET
    annotations: McpToolHints | None | UnsetType = UNSET
    meta: dict[str, Raw] | None | UnsetType = field(name="_meta", default=UNSET)


class McpServerStatus(Camel):
    """The state of one server."""

    name: str
    status: McpConnection
    server_info: McpImplementation | None | UnsetType = UNSET
    error: str | None | UnsetType = UNSET
    config: options.McpServerConfig | None | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    tools: tuple[McpServerTool, ...] | UnsetType = UNSET


class McpStatusReply(Camel):
    """The state of all servers."""

    mcp_servers: tuple[McpServerStatus, ...]


class McpReconnectRequest(CamelRequest, tag="mcp_reconnect"):
    """Connect to a server again."""

    server_name: str


class McpToggleRequest(CamelRequest, tag="mcp_toggle"):
    """Turn a server on or off."""

    server_name: str
    enabled: bool


class LaneInput(Snake):
    """A file that a tool is given."""

    name: str
    lane_path: str


class LaneOutput(Snake):
    """A file that a tool is to write."""

    name: str
    lane_path: str
    if_match: str | UnsetType = UNSET


class McpCallRequest(SnakeRequest, tag="mcp_call"):
    """Call a server's tool, without the model."""

    tool: str
    """The full name, beginning with `mcp__`."""
    arguments: dict[str, Raw] | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    """The deadline; needed where files are written."""
    timeout_ms: int | UnsetType = UNSET
    """Between 1000 and 600000; 120000 if not given."""
    result_not_for_model: bool | UnsetType = UNSET
    check_permissions: bool | UnsetType = UNSET
    input_files: tuple[LaneInput, ...] | UnsetType = UNSET
    output_files: tuple[LaneOutput, ...] | UnsetType = UNSET


class McpReadResourceRequest(CamelRequest, tag="mcp_read_resource"):
    """Read a server's `ui://` resource."""

    server_name: str
    uri: str


class McpReadResourceReply(Camel):
    """A resource's contents."""

    contents: tuple[McpResourceContents, ...]


class ApplyFlagSettingsRequest(SnakeRequest, tag="apply_flag_settings"):
    """Merge settings into the layer of the command line's flags; null takes one away."""

    settings: dict[str, Raw]


class GetSettingsRequest(SnakeRequest, tag="get_settings"):
    """Return the settings in effect, and those of each source."""


class SettingsTarget(OpenEnum):
    """The settings file to write to."""

    LOCAL_SETTINGS = "localSettings"
    USER_SETTINGS = "userSettings"


class UpdateSettingsRequest(SnakeRequest, tag="update_settings"):
    """Write settings into a file; only some keys may be written."""

    source: SettingsTarget
    settings: dict[str, Raw]


class ListPermissionRulesRequest(SnakeRequest, tag="list_permission_rules"):
    """Return the permission rules and the directories of the workspace."""


class RuleSource(OpenEnum):
    """Where a permission rule came from."""

    USER_SETTINGS = "userSettings"
    PROJECT_SETTINGS = "projectSettings"
    LOCAL_SETTINGS = "localSettings"
    FLAG_SETTINGS = "flagSettings"
    POLICY_SETTINGS = "policySettings"
    CLI_ARG = "cliArg"
    COMMAND = "command"
    SESSION = "session"
    MCP_MOUNT = "mcpMount"
    TOOLS_NARROWING = "toolsNarrowing"
    MCP_SERVER_POLICY = "mcpServerPolicy"
    HOST_CREDENTIAL = "hostCredential"


class RuleEditability(OpenEnum):
    """Whether a rule can be changed, and for how long."""

    PERSISTENT = "persistent"
    SESSION = "session"
    READONLY = "readonly"


class RuleDescription(Camel):
    """A rule in words, in three pieces."""

    prefix: str
    emphasis: str | UnsetType = UNSET
    suffix: str | UnsetType = UNSET


class ListedRule(Camel):
    """One permission rule."""

    behavior: PermissionBehavior
    source: RuleSource | UnsetType = UNSET
    rule: str
    description: RuleDescription | UnsetType = UNSET
    editability: RuleEditability | UnsetType = UNSET
    not_in_effect: bool | UnsetType = UNSET


class WorkspaceDirectory(Camel):
    """A directory in which Claude Code may work."""

    path: str
    source: str | UnsetType = UNSET


class PermissionRulesState(Camel):
    """All rules and directories, as they are now."""

    rules: tuple[ListedRule, ...] | UnsetType = UNSET
    workspace_directories: tuple[WorkspaceDirectory, ...] | UnsetType = UNSET
    original_cwd: str | UnsetType = UNSET
    managed_only: bool | UnsetType = UNSET
    errors: tuple[SettingsParseError, ...] | UnsetType = UNSET
    withheld: bool | UnsetType = UNSET


class PermissionRulesReply(Snake):
    """The permission rules."""

    state: PermissionRulesState


class SettingsParseError(Snake):
    """A setting that could not be understood."""

    file: str | UnsetType = UNSET
    path: str
    message: str | UnsetType = UNSET


class GetHooksListingRequest(SnakeRequest, tag="get_hooks_listing"):
    """Return all hooks."""


class HookEventSummary(Camel):
    """An event that hooks can wait for."""

    name: str
    summary: str | UnsetType = UNSET
    supports_matcher: bool | UnsetType = UNSET
    hook_count: int | UnsetType = UNSET
    """Only where hooks are counted, and not in the catalogue of events."""


class EditableHook(Camel):
    """A hook as its settings file has it."""

    matcher: str | UnsetType = UNSET
    config: dict[str, Raw] | UnsetType = UNSET
    headers_redacted: bool | UnsetType = UNSET


class ListedHook(Camel):
    """One hook."""

    event: str
    matcher: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    source_label: str | UnsetType = UNSET
    plugin_name: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    display_text: str | UnsetType = UNSET
    command_text: str | UnsetType = UNSET
    content_label: str | UnsetType = UNSET
    condition: str | UnsetType = UNSET
    timeout: Number | UnsetType = UNSET
    status_message: str | UnsetType = UNSET
    runs_once: bool | UnsetType = UNSET
    runs_in_background: bool | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    editable: EditableHook | UnsetType = UNSET


class HooksPolicy(Camel):
    """What the organisation says about hooks."""

    disabled_by_policy: bool | UnsetType = UNSET
    managed_only: bool | UnsetType = UNSET
    plugin_only: bool | UnsetType = UNSET
    all_disabled: bool | UnsetType = UNSET
    policy_hook_count: int | UnsetType = UNSET
    policy_unreadable: bool | UnsetType = UNSET


class SafeModeNotice(Camel):
    """Safe mode is on: only the organisation's hooks may run."""

    managed_hooks_still_apply: bool | UnsetType = UNSET
    exit_hint: str | UnsetType = UNSET


class BareModeNotice(Camel):
    """Bare mode is on: no hooks run."""

    exit_hint: str | UnsetType = UNSET


class HooksListingReply(Camel):
    """All hooks, and the events that they wait for."""

    events: tuple[HookEventSummary, ...] | UnsetType = UNSET
    hooks: tuple[ListedHook, ...]
    event_catalog: tuple[HookEventSummary, ...] | UnsetType = UNSET
    policy: HooksPolicy | UnsetType = UNSET
    safe_mode: SafeModeNotice | UnsetType = UNSET
    bare_mode: BareModeNotice | UnsetType = UNSET
    errors: tuple[SettingsParseError, ...] | UnsetType = UNSET


class FileEncoding(OpenEnum):
    """How a file's contents are written into JSON."""

    UTF_8 = "utf-8"
    BASE64 = "base64"


class ReadFileRequest(SnakeRequest, tag="read_file"):
    """Read a file, under the rules of the Read tool."""

    path: str
    max_bytes: int | UnsetType = UNSET
    encoding: FileEncoding | UnsetType = UNSET


class ReadFileReply(Camel):
    """A file's contents."""

    contents: str
    abs_path: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    encoding: FileEncoding | UnsetType = UNSET
    """Only where the contents are base64."""
    lossy: bool | UnsetType = UNSET


class SeedReadStateRequest(SnakeRequest, tag="seed_read_state"):
    """Tell Claude Code that a file was read already, and when it had last changed."""

    path: str
    mtime: Number


class FileSuggestionsRequest(SnakeRequest, tag="file_suggestions"):
    """Return the files that an @-mention may mean."""

    query: str


class RewindFilesRequest(SnakeRequest, tag="rewind_files"):
    """Restore the files to what they were at a prompt."""

    user_message_id: str
    dry_run: bool | UnsetType = UNSET


class RewindFilesReply(Camel):
    """What restoring the files changed, or would change."""

    can_rewind: bool
    error: str | None | UnsetType = UNSET
    files_changed: tuple[str, ...] | None | UnsetType = UNSET
    insertions: int | None | UnsetType = UNSET
    deletions: int | None | UnsetType = UNSET
    skipped_links: int | None | UnsetType = UNSET


class RegisterRepoRootRequest(SnakeRequest, tag="register_repo_root"):
    """Add a directory to work in, and perhaps read again what it brings."""

    directory: str
    reload_claude_md: bool | UnsetType = UNSET
    reload_plugins: bool | UnsetType = UNSET
    reload_skills: bool | UnsetType = UNSET


class GetWorkspaceDiffRequest(SnakeRequest, tag="get_workspace_diff"):
    """Return what changed in the workspace; its fields are not documented."""


class ReloadPluginsRequest(SnakeRequest, tag="reload_plugins"):
    """Read the plugins again."""

    hold_on_cache_impact: bool | UnsetType = UNSET
    """Change nothing if the prompt cache would be lost."""
    add_plugins: tuple[options.PluginConfig, ...] | UnsetType = UNSET
    refuse_if_busy: bool | UnsetType = UNSET


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

    commands: tuple[sdk.SlashCommand, ...] | UnsetType = UNSET
    agents: tuple[AgentInfo, ...] | UnsetType = UNSET
    plugins: tuple[sdk.LoadedPlugin, ...]
    mcp_servers: tuple[McpServerStatus, ...] | UnsetType = field(name="mcpServers", default=UNSET)
    error_count: int | UnsetType = UNSET
    held: bool | UnsetType = UNSET
    """Nothing was changed, for `cache_impact`'s sake."""
    cache_impact: CacheImpact | UnsetType = UNSET


class ReloadSkillsRequest(SnakeRequest, tag="reload_skills"):
    """Read the skills again."""


class ReloadSkillsReply(Snake):
    """The skills after they were read again."""

    skills: tuple[sdk.SlashCommand, ...]


class ReloadOutputStylesRequest(SnakeRequest, tag="reload_output_styles"):
    """Read the output styles again."""


class ReloadOutputStylesReply(Snake):
    """The output styles after they were read again."""

    available_output_styles: tuple[str, ...]


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


class CategoryTokens(Camel):
    """A part of the context."""

    id: ContextCategoryId | UnsetType = UNSET
    name: str
    tokens: int
    color: str | UnsetType = UNSET
    is_deferred: bool | UnsetType = UNSET
    kind: sdk.ContextCategoryKind | UnsetType = UNSET


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


class GetSessionCostRequest(SnakeRequest, tag="get_session_cost"):
    """Return the session's cost as text."""


class GetUsageRequest(SnakeRequest, tag="get_usage"):
    """Return the session's totals and the account's limits."""

    skip_behaviors: bool | UnsetType = UNSET


class LimitWindow(Snake):
    """How much of a limit is used, and when it starts anew."""

    utilization: Number | None | UnsetType = UNSET
    resets_at: str | None | UnsetType = UNSET


class ModelLimit(LimitWindow):
    """How much of one model's limit is used."""

    display_name: str | UnsetType = UNSET


class RateLimits(Snake):
    """The account's limits."""

    five_hour: LimitWindow | None | UnsetType = UNSET
    seven_day: LimitWindow | None | UnsetType = UNSET
    seven_day_oauth_apps: LimitWindow | None | UnsetType = UNSET
    seven_day_opus: LimitWindow | None | UnsetType = UNSET
    seven_day_sonnet: LimitWindow | None | UnsetType = UNSET
    model_scoped: tuple[ModelLimit, ...] | UnsetType = UNSET
    extra_usage: sdk.ExtraUsage | None | UnsetType = UNSET


class BehaviorKey(OpenEnum):
    """A habit that uses up the limits."""

    CACHE_MISS = "cache_miss"
    LONG_CONTEXT = "long_context"
    SUBAGENT_HEAVY = "subagent_heavy"
    HIGH_PARALLEL = "high_parallel"
    CRON = "cron"
    MAX_EFFORT = "max_effort"
    WORKFLOW = "workflow"
    ALWAYS_ON_CONTEXT = "always_on_context"
    LARGE_TOOL_RESULTS = "large_tool_results"


class Behavior(Snake):
    """How much a habit uses."""

    key: BehaviorKey
    pct: Number | UnsetType = UNSET
    count: int | UnsetType = UNSET


class Recommendation(Snake):
    """What would use less."""

    key: str
    pct: Number | UnsetType = UNSET
    title: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET


class SuggestedFix(Snake):
    """Prompts that would put recommendations into effect."""

    keys: tuple[str, ...] | UnsetType = UNSET
    messages: tuple[str, ...] | UnsetType = UNSET


class Share(Snake):
    """How much an agent, a skill, a plugin or a server uses."""

    name: str
    pct: Number | UnsetType = UNSET


class BehaviorReport(Snake):
    """What used up the limits in a day or a week."""

    request_count: int | UnsetType = UNSET
    session_count: int | UnsetType = UNSET
    behaviors: tuple[Behavior, ...] | UnsetType = UNSET
    recommendations: tuple[Recommendation, ...] | UnsetType = UNSET
    fix: SuggestedFix | UnsetType = UNSET
    agents: tuple[Share, ...] | UnsetType = UNSET
    skills: tuple[Share, ...] | UnsetType = UNSET
    plugins: tuple[Share, ...] | UnsetType = UNSET
    mcp_servers: tuple[Share, ...] | UnsetType = UNSET


class Behaviors(Snake):
    """What used up the limits, of late."""

    day: BehaviorReport | UnsetType = UNSET
    week: BehaviorReport | UnsetType = UNSET


class UsageReply(Snake):
    """The session's totals and the account's limits."""

    session: sdk.SessionTotals
    subscription_type: str | None | UnsetType = UNSET
    rate_limits_available: bool | UnsetType = UNSET
    rate_limits: RateLimits | None | UnsetType = UNSET
    behaviors: Behaviors | None | UnsetType = UNSET


KnownRequest = (
    CanUseToolRequest
    | HookCallbackRequest
    | InitializeRequest
    | InterruptRequest
    | McpMessageRequest
    | McpSetServersRequest
    | McpStatusRequest
    | RewindFilesRequest
    | SetMaxThinkingTokensRequest
    | SetModelRequest
    | SetPermissionModeRequest
    | McpReconnectRequest
    | McpToggleRequest
    | StopTaskRequest
    | ApplyFlagSettingsRequest
    | ElicitationRequest
    | GetSettingsRequest
    | CancelAsyncMessageRequest
    | GetContextUsageRequest
    | ReloadPluginsRequest
    | SeedReadStateRequest
    | RenameSessionRequest
    | UserDialogRequest
    | FileSuggestionsRequest
    | GetBinaryVersionRequest
    | GetSessionCostRequest
    | McpCallRequest
    | ReadFileRequest
    | SetColorRequest
    | BackgroundTasksRequest
    | GetUsageRequest
    | RegisterRepoRootRequest
    | ReloadSkillsRequest
    | ListModelsRequest
    | GetPlanRequest
    | GetWorkspaceDiffRequest
    | UpdateSettingsRequest
    | GetHooksListingRequest
    | ListPermissionRulesRequest
    | ReloadOutputStylesRequest
    | GetTaskOutputRequest
    | McpReadResourceRequest
    | SetHasSubscribersRequest
)
"""A request of a declared subtype."""

RequestBody = Open[KnownRequest, UnknownControlRequest]
"""A request of any subtype."""


class UnknownReply(UnknownNamed):
    """The answer to a request of an undeclared subtype, which is its `name`."""


Reply = (
    PermissionResult
    | HookJSONOutput
    | InitializeReply
    | InterruptReply
    | McpMessageReply
    | McpSetServersReply
    | McpStatusReply
    | RewindFilesReply
    | ElicitationReply
    | ContextUsageReply
    | ReloadPluginsReply
    | UserDialogReply
    | ReadFileReply
    | UsageReply
    | ReloadSkillsReply
    | HooksListingReply
    | PermissionRulesReply
    | ReloadOutputStylesReply
    | TaskOutputReply
    | McpReadResourceReply
    | Raw
)
"""The payload of any granted request; raw where it is untyped."""
