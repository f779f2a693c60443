"""The options of a query: all that it can be told before it starts.

The fields are those of spec 001 and of today's SDK, under the SDK's names. What has no JSON form (functions,
live objects) is in `Callbacks`. A field may be null where spec 001 has a pointer.
"""

from __future__ import annotations

from typing import Literal

from turnlog.messages.base import UNSET, Camel, Number, Raw, UnsetType, field
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.options.agents import AgentDefinition
from turnlog.messages.options.enums import (
    EffortLevel,
    Executable,
    PermissionPrompts,
    PluginDelivery,
    SdkBeta,
    SessionStoreFlush,
    SettingSource,
)
from turnlog.messages.options.hooks import HookCallbackMatcher
from turnlog.messages.options.mcp import McpServerConfig
from turnlog.messages.options.output import OutputFormat
from turnlog.messages.options.plugins import PluginConfig
from turnlog.messages.options.prompts import SystemPromptConfig
from turnlog.messages.options.sandbox import SandboxSettings
from turnlog.messages.options.thinking import TaskBudget, ThinkingConfig
from turnlog.messages.options.tools import ToolConfig, ToolsConfig


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
