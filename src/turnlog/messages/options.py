"""What a query is started with: options, everything they are made of, and what can be wrong with them.

The fields of `QueryOptions` are those of spec 001 and of today's SDK, under the SDK's names; a field may be
null where spec 001 has a pointer. Enumerations are open: a word that a newer version brings is kept, and
`validate` warns of it.

Functions and live objects have no JSON form. They stand in `Callbacks`, beside the options and not within
them, so that no encoder can meet them and no decoder can make one. What they are called with, and what they
answer, are the requests and responses of the control protocol.

One class holds the fields of all transports of an MCP server, as in spec 001. A tagged union would be the
usual form, but a stdio server may leave out its `type`, and a union cannot hold tagged structs beside an
untagged one. `TRANSPORT_FIELDS` says what belongs to which transport.

`validate` writes options and reads them again: that finds values of the wrong type, which Python lets pass
when a struct is made, and words that nobody knows. Then the rules speak; each is a sentence of the SDK's
documentation or of spec 001. What the program takes without a word is no problem here either.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import ClassVar, Literal, Protocol, cast, runtime_checkable

from msgspec import UNSET, Raw, Struct, UnsetType, field

from turnlog.messages.base import (
    Camel,
    Number,
    Open,
    OpenEnum,
    Snake,
    TypeEnum,
    UnknownTagged,
    Value,
    encode_value,
)
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.hook_events import HookEventName, HookInput, HookJSONOutput
from turnlog.messages.permissions import PermissionResult
from turnlog.messages.salvage import ProblemKind, view
from turnlog.messages.spans import Path, render_path

__all__ = [
    "AbortController", "AgentDefinition", "AgentMcpServerSpec", "AskUserQuestionConfig", "Callbacks",
    "CanUseTool", "ConfigScope", "CredentialDecode", "CredentialMode", "CustomSystemPrompt", "EffortLevel",
    "Executable", "FullSessionStore", "HookCallback", "HookCallbackMatcher", "HookFailurePolicy",
    "JsonSchemaOutputFormat", "ListingSessionStore", "LocalPlugin", "McpOrgPermission", "McpServerConfig",
    "McpServerToolPolicy", "McpToolPermission", "McpTransport", "NoMatch", "OnElicitation", "OnUserDialog",
    "OptionProblem", "OptionProblemKind", "OutputFormat", "PermissionPrompts", "PluginConfig", "PluginDelivery",
    "Preset", "PresetSystemPrompt", "PreviewFormat", "QueryOptions", "SandboxAwsPair", "SandboxCredentialFile",
    "SandboxCredentialVariable", "SandboxCredentials", "SandboxFilesystemConfig", "SandboxNetworkConfig",
    "SandboxRipgrep", "SandboxSettings", "SandboxSigv4", "SandboxTlsTerminate", "SdkBeta", "SessionKey",
    "SessionStore", "SessionStoreFlush", "SessionSummaryEntry", "SettingSource", "Sigv4Policy", "SpawnProcess",
    "SystemPromptConfig", "TRANSPORT_FIELDS", "TaskBudget", "ThinkingAdaptive", "ThinkingConfig",
    "ThinkingDisabled", "ThinkingDisplay", "ThinkingEnabled", "ToolConfig", "ToolsConfig", "ToolsPreset",
    "UnknownOutputFormat", "UnknownPlugin", "UnknownSystemPrompt", "UnknownThinking", "UnknownTools",
    "validate",
]  # fmt: skip


class SettingSource(OpenEnum):
    """A settings file that may be loaded."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


class ConfigScope(OpenEnum):
    """Whose configuration something belongs to."""

    LOCAL = "local"
    USER = "user"
    PROJECT = "project"


class EffortLevel(OpenEnum):
    """How hard the model tries."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


class Executable(OpenEnum):
    """The JavaScript runtime that runs Claude Code."""

    BUN = "bun"
    DENO = "deno"
    NODE = "node"


class SdkBeta(OpenEnum):
    """A feature of the API that is in beta."""

    CONTEXT_1M = "context-1m-2025-08-07"


class SessionStoreFlush(OpenEnum):
    """When lines are handed to the session store."""

    BATCHED = "batched"
    EAGER = "eager"


class PermissionPrompts(OpenEnum):
    """Who answers when a permission is asked for."""

    HOST = "host"
    NONE = "none"


class PluginDelivery(OpenEnum):
    """How Claude Code is told of the plugins: on its command line, or by the first request."""

    ARGV = "argv"
    INITIALIZE = "initialize"


class Preset(OpenEnum):
    """A ready-made choice of prompt or tools."""

    CLAUDE_CODE = "claude_code"


class UnknownSystemPrompt(UnknownTagged):
    """A system prompt of an unknown type."""


class _SystemPrompt(Camel, tag_field="type"):
    """A system prompt that says more than its text."""

    type: ClassVar[str]
    snapshot: bool | UnsetType = UNSET
    """Whether the prompt is recorded, to be used again when the session is resumed."""


class CustomSystemPrompt(_SystemPrompt, tag="custom"):
    """A prompt of one's own."""

    prompt: str | tuple[str, ...]


class PresetSystemPrompt(_SystemPrompt, tag="preset"):
    """Claude Code's own prompt, and what is added to it."""

    preset: Preset
    append: str | UnsetType = UNSET
    exclude_dynamic_sections: bool | UnsetType = UNSET


SystemPromptConfig = Open[str | tuple[str, ...] | CustomSystemPrompt | PresetSystemPrompt, UnknownSystemPrompt]
"""What stands in place of Claude Code's prompt, or is added to it."""


class UnknownTools(UnknownTagged):
    """A choice of tools of an unknown type."""


class ToolsPreset(Camel, tag_field="type", tag="preset"):
    """A ready-made set of tools."""

    type: ClassVar[str]
    preset: Preset


ToolsConfig = Open[tuple[str, ...] | ToolsPreset, UnknownTools]
"""The tools there are, by name (none, if empty), or a ready-made set."""


class PreviewFormat(OpenEnum):
    """How the answers to a question are shown beforehand."""

    MARKDOWN = "markdown"
    HTML = "html"


class AskUserQuestionConfig(Camel):
    """How the tool that asks the user behaves."""

    preview_format: PreviewFormat | UnsetType = UNSET


class ToolConfig(Camel):
    """How single tools behave."""

    ask_user_question: AskUserQuestionConfig | UnsetType = UNSET


class UnknownThinking(UnknownTagged):
    """A way of thinking of an unknown type."""


class ThinkingDisplay(OpenEnum):
    """How much of its thinking the model shows."""

    SUMMARIZED = "summarized"
    OMITTED = "omitted"


class _Thinking(Camel, tag_field="type"):
    """A way of thinking."""

    type: ClassVar[str]


class ThinkingAdaptive(_Thinking, tag="adaptive"):
    """The model decides when and how much to think."""

    display: ThinkingDisplay | UnsetType = UNSET


class ThinkingEnabled(_Thinking, tag="enabled"):
    """The model thinks, within a number of tokens."""

    budget_tokens: int | UnsetType = UNSET
    display: ThinkingDisplay | UnsetType = UNSET


class ThinkingDisabled(_Thinking, tag="disabled"):
    """The model does not think."""


ThinkingConfig = Open[ThinkingAdaptive | ThinkingEnabled | ThinkingDisabled, UnknownThinking]
"""Whether and how much the model thinks."""


class TaskBudget(Camel):
    """The tokens that the model is told it may spend on the whole task."""

    total: int


class UnknownOutputFormat(UnknownTagged):
    """A form of an unknown type."""


class JsonSchemaOutputFormat(Camel, tag_field="type", tag="json_schema"):
    """JSON that a schema describes."""

    type: ClassVar[str]
    schema: dict[str, Raw] | UnsetType = UNSET
    """Needed; `validation` says so."""


OutputFormat = Open[JsonSchemaOutputFormat, UnknownOutputFormat]
"""The form of the final answer; so far always a JSON Schema."""


class McpTransport(TypeEnum):
    """How an MCP server is spoken to."""

    STDIO = "stdio"
    SSE = "sse"
    HTTP = "http"
    SDK = "sdk"
    CLAUDEAI_PROXY = "claudeai-proxy"
    """Occurs where a server's status is told, never in options."""


class McpToolPermission(OpenEnum):
    """What is done when a server's tool is called."""

    ALWAYS_ALLOW = "always_allow"
    ALWAYS_ASK = "always_ask"
    ALWAYS_DENY = "always_deny"


class McpOrgPermission(OpenEnum):
    """The most that an organisation lets a server's tool do."""

    ALLOW = "allow"
    ASK = "ask"
    BLOCKED = "blocked"


class McpServerToolPolicy(Snake):
    """What one tool of a server may do."""

    name: str
    permission_policy: McpToolPermission | UnsetType = UNSET
    org_max_permission: McpOrgPermission | UnsetType = UNSET


class McpServerConfig(Camel):
    """How to reach one MCP server, by any transport."""

    type: McpTransport | UnsetType = UNSET
    """Absent means stdio; `transport` says so."""
    command: str | UnsetType = UNSET
    args: tuple[str, ...] | UnsetType = UNSET
    env: dict[str, str] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    name: str | UnsetType = UNSET
    """The name of a server that runs inside the host's own process."""
    id: str | UnsetType = UNSET
    tools: tuple[McpServerToolPolicy, ...] | UnsetType = UNSET
    timeout: Number | UnsetType = UNSET
    always_load: bool | UnsetType = UNSET

    @property
    def transport(self) -> McpTransport:
        """How the server is spoken to, said or implied."""
        return McpTransport.STDIO if self.type is UNSET else self.type


_REMOTE: Mapping[str, bool] = {
    "url": True,
    "headers": False,
    "tools": False,
    "timeout": False,
    "always_load": False,
}

TRANSPORT_FIELDS: Mapping[McpTransport, Mapping[str, bool]] = {
    McpTransport.STDIO: {"command": True, "args": False, "env": False, "timeout": False, "always_load": False},
    McpTransport.SSE: _REMOTE,
    McpTransport.HTTP: _REMOTE,
    McpTransport.SDK: {"name": True, "timeout": False, "tools": False},
    McpTransport.CLAUDEAI_PROXY: {"url": True, "id": True, "timeout": False},
}
"""The fields of each transport beside `type`, and whether it needs them."""


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


class UnknownPlugin(UnknownTagged):
    """A plugin of an unknown type."""


class LocalPlugin(Camel, tag_field="type", tag="local"):
    """A plugin in a directory, absolute or relative."""

    type: ClassVar[str]
    path: str
    skip_mcp_discovery: bool | UnsetType = UNSET


PluginConfig = Open[LocalPlugin, UnknownPlugin]
"""A plugin; so far they are all local."""


class HookFailurePolicy(OpenEnum):
    """What follows when a callback fails."""

    CONTINUE = "continue"
    BLOCK = "block"


class HookCallbackMatcher(Camel):
    """The callbacks for the events that match a pattern."""

    matcher: str | None | UnsetType = UNSET
    """A pattern of tool names; absent or null means all."""
    hook_callback_ids: tuple[str, ...] | UnsetType = UNSET
    timeout: Number | None | UnsetType = UNSET
    """In seconds."""
    on_failure: HookFailurePolicy | UnsetType = UNSET


class CredentialMode(OpenEnum):
    """How a credential is withheld: not at all readable, or with a stand-in for it."""

    DENY = "deny"
    MASK = "mask"


class NoMatch(OpenEnum):
    """What follows when the pattern finds no credential."""

    DENY = "deny"
    ERROR = "error"
    WARN = "warn"


class CredentialDecode(OpenEnum):
    """What a credential is, apart from text."""

    JWT = "jwt"


class Sigv4Policy(OpenEnum):
    """What is done with requests that cannot be signed anew."""

    DENY = "deny"
    PASSTHROUGH = "passthrough"


class SandboxTlsTerminate(Camel):
    """The certificate authority with which the proxy opens TLS."""

    ca_cert_path: str | UnsetType = UNSET
    ca_key_path: str | UnsetType = UNSET


class SandboxNetworkConfig(Camel):
    """What commands may reach."""

    allowed_domains: tuple[str, ...] | UnsetType = UNSET
    denied_domains: tuple[str, ...] | UnsetType = UNSET
    strict_allowlist: bool | UnsetType = UNSET
    allow_managed_domains_only: bool | UnsetType = UNSET
    allow_unix_sockets: tuple[str, ...] | UnsetType = UNSET
    allow_all_unix_sockets: bool | UnsetType = UNSET
    allow_local_binding: bool | UnsetType = UNSET
    allow_mach_lookup: tuple[str, ...] | UnsetType = UNSET
    http_proxy_port: int | UnsetType = UNSET
    socks_proxy_port: int | UnsetType = UNSET
    tls_terminate: SandboxTlsTerminate | UnsetType = UNSET


class SandboxFilesystemConfig(Camel):
    """What commands may read and write."""

    allow_write: tuple[str, ...] | UnsetType = UNSET
    deny_write: tuple[str, ...] | UnsetType = UNSET
    deny_read: tuple[str, ...] | UnsetType = UNSET
    allow_read: tuple[str, ...] | UnsetType = UNSET
    allow_managed_read_paths_only: bool | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET


class _Credential(Camel):
    """What is done with a credential."""

    mode: CredentialMode | UnsetType = UNSET
    extract: str | UnsetType = UNSET
    """A pattern; only what its first group finds is masked."""
    on_extract_no_match: NoMatch | UnsetType = UNSET
    decode: CredentialDecode | UnsetType = UNSET
    mask_claims: tuple[str, ...] | UnsetType = UNSET
    inject_hosts: tuple[str, ...] | UnsetType = UNSET
    """The hosts that get the real one."""


class SandboxCredentialFile(_Credential):
    """A file that holds a credential."""

    path: str
    mask_duplicates: bool | UnsetType = UNSET


class SandboxCredentialVariable(_Credential):
    """An environment variable that holds a credential."""

    name: str


class SandboxAwsPair(Camel):
    """The environment variables of one AWS credential."""

    access_key_id_var: str
    secret_access_key_var: str
    session_token_var: str | UnsetType = UNSET


class SandboxSigv4(Camel):
    """What is done with AWS requests that cannot be signed anew, by kind."""

    streaming: Sigv4Policy | UnsetType = UNSET
    presigned: Sigv4Policy | UnsetType = UNSET
    sigv4a: Sigv4Policy | UnsetType = UNSET


class SandboxCredentials(Camel):
    """The credentials that commands must not see."""

    files: tuple[SandboxCredentialFile, ...] | UnsetType = UNSET
    env_vars: tuple[SandboxCredentialVariable, ...] | UnsetType = UNSET
    allow_plaintext_inject: bool | UnsetType = UNSET
    aws_pairs: tuple[SandboxAwsPair, ...] | UnsetType = UNSET
    sigv4: SandboxSigv4 | UnsetType = UNSET


class SandboxRipgrep(Camel):
    """The program that searches files for the sandbox."""

    command: str
    args: tuple[str, ...] | UnsetType = UNSET


class SandboxSettings(Camel):
    """Whether commands run in a sandbox, and what it lets through."""

    enabled: bool | UnsetType = UNSET
    fail_if_unavailable: bool | UnsetType = UNSET
    auto_allow_bash_if_sandboxed: bool | UnsetType = UNSET
    allow_unsandboxed_commands: bool | UnsetType = UNSET
    network: SandboxNetworkConfig | None | UnsetType = UNSET
    filesystem: SandboxFilesystemConfig | UnsetType = UNSET
    credentials: SandboxCredentials | UnsetType = UNSET
    ignore_violations: dict[str, tuple[str, ...]] | tuple[str, ...] | UnsetType = UNSET
    """Paths by command; spec 001 has a plain list."""
    enable_weaker_nested_sandbox: bool | UnsetType = UNSET
    allow_nested_user_namespaces: bool | UnsetType = UNSET
    enable_weaker_network_isolation: bool | UnsetType = UNSET
    allow_apple_events: bool | UnsetType = UNSET
    excluded_commands: tuple[str, ...] | UnsetType = UNSET
    ripgrep: SandboxRipgrep | UnsetType = UNSET
    bwrap_path: str | UnsetType = UNSET
    socat_path: str | UnsetType = UNSET


class QueryOptions(Camel):
    """What a query is started with; all of it is optional."""

    agent: str | UnsetType = UNSET
    """The agent of the main thread."""
    agents: dict[str, AgentDefinition] | UnsetType = UNSET
    agent_progress_summaries: bool | UnsetType = UNSET

    allowed_tools: tuple[str, ...] | UnsetType = UNSET
    """Tools that need no permission; others stay available."""
    disallowed_tools: tuple[str, ...] | UnsetType = UNSET
    tools: ToolsConfig | UnsetType = UNSET
    tool_aliases: dict[str, str] | UnsetType = UNSET
    tool_config: ToolConfig | UnsetType = UNSET
    skills: tuple[str, ...] | Literal["all"] | UnsetType = UNSET
    """The skills that are switched on."""

    model: str | UnsetType = UNSET
    fallback_model: str | UnsetType = UNSET
    """One or several, with commas, in the order in which they are tried."""
    thinking: ThinkingConfig | UnsetType = UNSET
    effort: EffortLevel | UnsetType = UNSET
    max_thinking_tokens: int | None | UnsetType = UNSET
    """Older than `thinking`, which goes before; 0 means none."""
    max_turns: int | None | UnsetType = UNSET
    max_budget_usd: Number | None | UnsetType = UNSET
    task_budget: TaskBudget | UnsetType = UNSET
    betas: tuple[SdkBeta, ...] | UnsetType = UNSET

    cwd: str | UnsetType = UNSET
    additional_directories: tuple[str, ...] | UnsetType = UNSET
    project_config_root: str | UnsetType = UNSET
    continue_: bool | UnsetType = field(name="continue", default=UNSET)
    """Go on with the latest session of `cwd`."""
    resume: str | UnsetType = UNSET
    resume_session_at: str | UnsetType = UNSET
    resume_drops_turn: str | UnsetType = UNSET
    fork_session: bool | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    persist_session: bool | None | UnsetType = UNSET
    """True unless said otherwise."""
    session_store_flush: SessionStoreFlush | UnsetType = UNSET
    load_timeout_ms: Number | UnsetType = UNSET
    enable_file_checkpointing: bool | UnsetType = UNSET

    permission_mode: PermissionMode | UnsetType = UNSET
    allow_dangerously_skip_permissions: bool | UnsetType = UNSET
    permission_prompt_tool_name: str | UnsetType = UNSET
    permission_prompts: PermissionPrompts | UnsetType = UNSET
    plan_mode_instructions: str | UnsetType = UNSET
    sandbox: SandboxSettings | None | UnsetType = UNSET

    system_prompt: SystemPromptConfig | UnsetType = UNSET
    output_format: OutputFormat | None | UnsetType = UNSET
    verbatim_prompts: bool | UnsetType = UNSET
    prompt_suggestions: bool | UnsetType = UNSET

    mcp_servers: dict[str, McpServerConfig] | UnsetType = UNSET
    strict_mcp_config: bool | UnsetType = UNSET
    hooks: dict[str, tuple[HookCallbackMatcher, ...]] | UnsetType = UNSET
    """By the name of their event; `HookEventName` lists those that are known."""
    plugins: tuple[PluginConfig, ...] | UnsetType = UNSET
    plugin_delivery: PluginDelivery | UnsetType = UNSET
    supported_dialog_kinds: tuple[str, ...] | UnsetType = UNSET
    per_task_stop_affordance: bool | UnsetType = UNSET

    include_partial_messages: bool | UnsetType = UNSET
    include_hook_events: bool | UnsetType = UNSET
    forward_subagent_text: bool | UnsetType = UNSET

    setting_sources: tuple[SettingSource, ...] | UnsetType = UNSET
    settings: str | dict[str, Raw] | UnsetType = UNSET
    """A file's path, or the settings themselves."""
    managed_settings: dict[str, Raw] | UnsetType = UNSET

    debug: bool | UnsetType = UNSET
    debug_file: str | UnsetType = UNSET

    env: dict[str, str | None] | UnsetType = UNSET
    """The whole environment of Claude Code: nothing is inherited."""
    executable: Executable | UnsetType = UNSET
    executable_args: tuple[str, ...] | UnsetType = UNSET
    extra_args: dict[str, str | None] | UnsetType = UNSET
    """Further flags of the command line; null for those without a value."""
    path_to_claude_code_executable: str | UnsetType = UNSET


class SessionKey(Camel):
    """What a store keeps lines under; a `subpath` is that of a sub-agent."""

    project_key: str
    session_id: str
    subpath: str | UnsetType = UNSET


class SessionSummaryEntry(Camel):
    """What a store knows of a session without reading it."""

    session_id: str
    mtime: Number
    data: dict[str, Raw] | UnsetType = UNSET


class SessionStore(Protocol):
    """Keeps the lines of sessions, in the order in which they came."""

    async def append(self, key: SessionKey, entries: Sequence[Raw]) -> None:
        """Add lines; those with a `uuid` that is already there may be left out."""

    async def load(self, key: SessionKey) -> Sequence[Raw] | None:
        """Return all lines, or None for a key that was never written."""


@runtime_checkable
class ListingSessionStore(Protocol):
    """What a store must offer beside, so that the latest session can be continued."""

    async def list_sessions(self, project_key: str) -> Sequence[tuple[str, Number]]:
        """Return each session's id, and when it last changed, in milliseconds."""


class FullSessionStore(SessionStore, ListingSessionStore, Protocol):
    """A store that offers everything there is to offer."""

    async def list_session_summaries(self, project_key: str) -> Sequence[SessionSummaryEntry]:
        """Return what is known of each session."""

    async def delete(self, key: SessionKey) -> None:
        """Remove a session's lines, and those of its sub-agents."""

    async def list_subkeys(self, key: SessionKey) -> Sequence[str]:
        """Return the subpaths under which there are lines of sub-agents."""


CanUseTool = Callable[..., Awaitable[PermissionResult]]
"""Asked whether a tool may run; takes the request with the tool's name and input."""

HookCallback = Callable[[HookInput, str | None], Awaitable[HookJSONOutput]]
"""Called for a hook's event; takes the event's input, and the id of the tool use if there is one."""

OnElicitation = Callable[..., Awaitable[Value]]
"""Called when an MCP server asks the user for something."""

OnUserDialog = Callable[..., Awaitable[Value]]
"""Called when a dialog is to be shown."""

SpawnProcess = Callable[[tuple[str, ...], str | None, Mapping[str, str]], object]
"""Starts Claude Code elsewhere; takes the command line, the working directory and the environment."""


class AbortController(Protocol):
    """Tells whether the query is to end; `threading.Event` and `asyncio.Event` do."""

    def is_set(self) -> bool:
        """Tell whether the query is to end."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Callbacks:
    """The functions and live objects of a query; none of them is ever written."""

    abort_controller: AbortController | None = None
    can_use_tool: CanUseTool | None = None
    hooks: Mapping[str, HookCallback] = dataclasses.field(default_factory=dict)
    """By the ids that `HookCallbackMatcher.hook_callback_ids` names."""
    on_elicitation: OnElicitation | None = None
    on_user_dialog: OnUserDialog | None = None
    mcp_instances: Mapping[str, object] = dataclasses.field(default_factory=dict)
    """The servers of transport `sdk`, by their keys in `QueryOptions.mcp_servers`."""
    session_store: SessionStore | None = None
    stderr: Callable[[str], None] | None = None
    spawn_claude_code_process: SpawnProcess | None = None

    def __post_init__(self) -> None:
        # Read-only copies, for two reasons: nothing changes behind our back, and msgspec writes no such
        # mapping, so that even a `Callbacks` with nothing in it is refused.
        object.__setattr__(self, "hooks", MappingProxyType(dict(self.hooks)))
        object.__setattr__(self, "mcp_instances", MappingProxyType(dict(self.mcp_instances)))


class OptionProblemKind(StrEnum):
    """What sort of thing is wrong."""

    MISSING = "missing"
    """Something that is needed, as such or for another option."""
    WRONG_TYPE = "wrong-type"
    BAD_VALUE = "bad-value"
    """A value of the right type that is not taken."""
    CONFLICT = "conflict"
    """An option that cannot stand beside another."""
    UNKNOWN_VALUE = "unknown-value"
    """A word or a type that is not known here; a newer version may know it."""
    NO_EFFECT = "no-effect"
    """An option that does nothing, the others being what they are."""
    DISCOURAGED = "discouraged"
    """A value that is taken, though the documentation asks for another."""


_Kind = OptionProblemKind  # each rule names one
_WARNINGS = (_Kind.UNKNOWN_VALUE, _Kind.NO_EFFECT, _Kind.DISCOURAGED)


class OptionProblem(Struct, frozen=True, gc=False):
    """One thing that is wrong, or looks wrong, with options."""

    kind: OptionProblemKind
    expected: str
    found: str
    steps: Path
    """Keys and indexes from the options to the value, or to where it should be."""

    @property
    def path(self) -> str:
        """The place as a JSON path, such as `$.mcpServers.github.url`."""
        return render_path(self.steps)

    @property
    def is_warning(self) -> bool:
        """Tell whether a query may well start in spite of it."""
        return self.kind in _WARNINGS

    def __str__(self) -> str:
        return f"Expected {self.expected}, found {self.found} - at {self.path}"


def _check_positive(value: Number | None | UnsetType, steps: Path) -> Iterator[OptionProblem]:
    if isinstance(value, int | float) and value <= 0:
        yield OptionProblem(_Kind.BAD_VALUE, "a number above 0", f"`{value}`", steps)


_Rule = Callable[[QueryOptions, Callbacks | None], Iterator[OptionProblem]]
"""Looks at options, and at the callbacks beside them where those are known."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PORTS = range(1, 65536)


def _check_session(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    resumes = isinstance(options.resume, str)
    continues = options.continue_ is True
    forks = options.fork_session is True
    if resumes and continues:
        yield OptionProblem(_Kind.CONFLICT, "no `continue` beside `resume`", "both", ("continue",))
    if forks and not (resumes or continues):
        yield OptionProblem(_Kind.NO_EFFECT, "`resume` or `continue` beside it", "neither", ("forkSession",))
    if isinstance(options.session_id, str):
        if not _UUID.fullmatch(options.session_id):
            yield OptionProblem(_Kind.BAD_VALUE, "a UUID", f"`{options.session_id}`", ("sessionId",))
        if (resumes or continues) and not forks:
            yield OptionProblem(
                _Kind.CONFLICT, "`forkSession` beside `resume` or `continue`", "no fork", ("sessionId",)
            )
    if options.resume_session_at is not UNSET and not resumes:
        yield OptionProblem(_Kind.MISSING, "a session, for `resumeSessionAt`", "nothing", ("resume",))
    if options.resume_drops_turn is not UNSET and options.resume_session_at is UNSET:
        yield OptionProblem(_Kind.NO_EFFECT, "`resumeSessionAt` beside it", "nothing", ("resumeDropsTurn",))


def _check_store(options: QueryOptions, callbacks: Callbacks | None) -> Iterator[OptionProblem]:
    if callbacks is None:
        return
    if callbacks.session_store is None:
        if options.session_store_flush is not UNSET:
            yield OptionProblem(_Kind.NO_EFFECT, "a session store", "none", ("sessionStoreFlush",))
        if options.load_timeout_ms is not UNSET:
            yield OptionProblem(_Kind.NO_EFFECT, "a session store", "none", ("loadTimeoutMs",))
        return
    if options.persist_session is False:
        yield OptionProblem(
            _Kind.CONFLICT, "sessions that are written, for the session store", "false", ("persistSession",)
        )
    if options.enable_file_checkpointing is True:
        yield OptionProblem(
            _Kind.CONFLICT, "no checkpoints beside a session store", "true", ("enableFileCheckpointing",)
        )
    if options.continue_ is True and not isinstance(callbacks.session_store, ListingSessionStore):
        yield OptionProblem(
            _Kind.CONFLICT, "a session store that lists its sessions", "one that does not", ("continue",)
        )


def _check_permissions(options: QueryOptions, callbacks: Callbacks | None) -> Iterator[OptionProblem]:
    bypasses = options.permission_mode is PermissionMode.BYPASS_PERMISSIONS
    if bypasses and options.allow_dangerously_skip_permissions is not True:
        yield OptionProblem(
            _Kind.MISSING, "true, for `bypassPermissions`", "nothing", ("allowDangerouslySkipPermissions",)
        )
    asks = callbacks is not None and callbacks.can_use_tool is not None
    if asks and options.permission_prompt_tool_name is not UNSET:
        yield OptionProblem(
            _Kind.CONFLICT, "no tool that answers beside `canUseTool`", "both", ("permissionPromptToolName",)
        )


def _check_tools(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.allowed_tools, tuple) and isinstance(options.disallowed_tools, tuple):
        for index, name in enumerate(options.allowed_tools):
            if name in options.disallowed_tools:
                yield OptionProblem(
                    _Kind.NO_EFFECT, "a tool that is not disallowed", f"`{name}`", ("allowedTools", index)
                )


def _check_model(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.fallback_model, str):
        names = [name.strip() for name in options.fallback_model.split(",")]
        if options.model in names:
            yield OptionProblem(
                _Kind.CONFLICT, "another model than `model`", f"`{options.model}`", ("fallbackModel",)
            )


def _check_limits(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    yield from _check_positive(options.max_turns, ("maxTurns",))
    yield from _check_positive(options.max_budget_usd, ("maxBudgetUsd",))
    if isinstance(options.task_budget, TaskBudget):
        yield from _check_positive(options.task_budget.total, ("taskBudget", "total"))
    if isinstance(options.thinking, ThinkingEnabled):
        yield from _check_positive(options.thinking.budget_tokens, ("thinking", "budgetTokens"))
    if isinstance(options.max_thinking_tokens, int):
        if options.max_thinking_tokens < 0:
            yield OptionProblem(
                _Kind.BAD_VALUE, "0 or more", f"`{options.max_thinking_tokens}`", ("maxThinkingTokens",)
            )
        if options.thinking is not UNSET:
            yield OptionProblem(
                _Kind.NO_EFFECT, "no older limit beside `thinking`", "both", ("maxThinkingTokens",)
            )


def _check_directories(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.additional_directories, tuple):
        for index, name in enumerate(options.additional_directories):
            # A path's machine need not be this one, so either form will do.
            if not (PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()):
                yield OptionProblem(
                    _Kind.DISCOURAGED, "an absolute path", f"`{name}`", ("additionalDirectories", index)
                )


def _check_output(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.output_format, JsonSchemaOutputFormat) and options.output_format.schema is UNSET:
        yield OptionProblem(_Kind.MISSING, "a JSON Schema", "nothing", ("outputFormat", "schema"))


def _check_sandbox(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.sandbox, SandboxSettings) and isinstance(
        options.sandbox.network, SandboxNetworkConfig
    ):
        network = options.sandbox.network
        for name, port in (
            ("httpProxyPort", network.http_proxy_port),
            ("socksProxyPort", network.socks_proxy_port),
        ):
            if isinstance(port, int) and port not in _PORTS:
                yield OptionProblem(
                    _Kind.BAD_VALUE, "a port from 1 to 65535", f"`{port}`", ("sandbox", "network", name)
                )


_WIRE_NAMES = dict(
    zip(McpServerConfig.__struct_fields__, McpServerConfig.__struct_encode_fields__, strict=True)
)


def _check_servers(options: QueryOptions, callbacks: Callbacks | None) -> Iterator[OptionProblem]:
    if not isinstance(options.mcp_servers, dict):
        return
    for name, server in options.mcp_servers.items():
        steps: Path = ("mcpServers", name)
        yield from _check_server(server, steps)
        runs_here = server.transport is McpTransport.SDK
        if runs_here and callbacks is not None and name not in callbacks.mcp_instances:
            yield OptionProblem(_Kind.MISSING, "the server itself", "nothing", (*steps, "instance"))


def _check_server(server: McpServerConfig, steps: Path) -> Iterator[OptionProblem]:
    if server.transport is McpTransport.CLAUDEAI_PROXY:
        found = f"`{server.transport}`, which only a status tells of"
        yield OptionProblem(_Kind.BAD_VALUE, "a transport that can be chosen", found, (*steps, "type"))
        return
    if not server.transport.known:
        return
    fields = TRANSPORT_FIELDS[server.transport]
    for name, wire in _WIRE_NAMES.items():
        value = getattr(server, name)
        if fields.get(name) and not value:
            expected = f"a {wire} for a server of type `{server.transport}`"
            yield OptionProblem(_Kind.MISSING, expected, "nothing", (*steps, wire))
        elif name != "type" and name not in fields and value is not UNSET:
            expected = f"a field of a server of type `{server.transport}`"
            yield OptionProblem(_Kind.NO_EFFECT, expected, f"`{wire}`", (*steps, wire))


def _check_agents(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.agents, dict):
        for name, agent in options.agents.items():
            yield from _check_agent(agent, ("agents", name))


def _check_agent(agent: AgentDefinition, steps: Path) -> Iterator[OptionProblem]:
    if not agent.description:
        yield OptionProblem(_Kind.MISSING, "when to use the agent", "nothing", (*steps, "description"))
    if not agent.prompt:
        yield OptionProblem(_Kind.MISSING, "the agent's prompt", "nothing", (*steps, "prompt"))
    yield from _check_positive(agent.max_turns, (*steps, "maxTurns"))
    if isinstance(agent.mcp_servers, tuple):
        for index, spec in enumerate(agent.mcp_servers):
            if isinstance(spec, dict):
                for name, server in spec.items():
                    yield from _check_server(server, (*steps, "mcpServers", index, name))


def _check_hooks(options: QueryOptions, callbacks: Callbacks | None) -> Iterator[OptionProblem]:
    if not isinstance(options.hooks, dict):
        return
    for event, matchers in options.hooks.items():
        if not HookEventName.of(event).known:
            yield OptionProblem(_Kind.UNKNOWN_VALUE, "a known hook event", f"`{event}`", ("hooks", event))
        for index, matcher in enumerate(matchers):
            yield from _check_matcher(matcher, callbacks, ("hooks", event, index, "hookCallbackIds"))


def _check_matcher(
    matcher: HookCallbackMatcher, callbacks: Callbacks | None, steps: Path
) -> Iterator[OptionProblem]:
    if not isinstance(matcher.hook_callback_ids, tuple):
        yield OptionProblem(_Kind.MISSING, "the ids of callbacks", "nothing", steps)
    elif callbacks is not None:
        for index, name in enumerate(matcher.hook_callback_ids):
            if name not in callbacks.hooks:
                yield OptionProblem(_Kind.MISSING, f"a callback for `{name}`", "nothing", (*steps, index))


_RULES: tuple[_Rule, ...] = (
    _check_session,
    _check_store,
    _check_permissions,
    _check_tools,
    _check_model,
    _check_limits,
    _check_directories,
    _check_output,
    _check_sandbox,
    _check_servers,
    _check_agents,
    _check_hooks,
)
"""All rules, in the order in which they speak."""

_KINDS: dict[ProblemKind, OptionProblemKind] = {
    ProblemKind.MISSING_FIELD: _Kind.MISSING,
    ProblemKind.UNKNOWN_TYPE: _Kind.UNKNOWN_VALUE,
    ProblemKind.UNKNOWN_VALUE: _Kind.UNKNOWN_VALUE,
}


def validate(options: QueryOptions, callbacks: Callbacks | None = None) -> tuple[OptionProblem, ...]:
    """Return all that is wrong or looks wrong; without `callbacks`, nothing that depends on them.

    Raises `ChangeError` for a value that has no JSON form, such as a function in a field.
    """
    read = view(QueryOptions, encode_value(options))
    problems = [
        OptionProblem(
            _KINDS.get(problem.kind, _Kind.WRONG_TYPE),
            problem.expected,
            problem.found,
            problem.steps,
        )
        for problem in read.problems
    ]
    # No option is required, so any object makes options.
    readable = cast("QueryOptions", read.value)
    for rule in _RULES:
        problems += rule(readable, callbacks)
    return tuple(problems)
