"""What the SDK's stream says: prompts, answers, their events, results of turns, calls, and the program itself.

The stream is spelled in snake_case, with a handful of camelCase keys that say so at their field. Messages are
told apart by `type`, and those of `type: system` by `subtype`. Hosts leave out `uuid` and `session_id` on what
they send, so neither is required.

One answer comes as several messages with one `message.id`, each with one complete block; their `stop_reason`
is null and their usage is provisional. While it is being written it comes as the API's own events, too: a
message starts, its blocks start, grow by deltas and stop, and at last it gets its stop reason and its usage.
`MessageAssembler` puts them together. What a host sends and what the program echoes have the same `type`: only
`isReplay` tells a `UserMessageReplay`, which is not to be shown twice.

One class serves success and failure of a turn, because they share most of their fields and a failure may be
reported as either: `subtype: success` with `is_error: true` is an answer that reports an API error, and some
`error_…` say `is_error: false`. `usage` is this turn's; `model_usage` and `total_cost_usd` are running totals,
of which the last counts.

What the program says about itself is mostly `type: system` with a `subtype`. The header of a session comes
again at the start of each turn. What happens on disk, too, is spelled there in camelCase
(`system.CompactBoundary`) and here as the stream does. A `hook_id` ties the messages of one hook's run
together. A background task keeps its `task_id`; each time it is taken up again it gets a new `run_id`, and
these sort by start.

No decoder can tell all of them apart: it knows one tag, and the stream has three (`type`, then `subtype` or
`isReplay`). So a reader takes the `StreamHead` first and asks `find_class` what the whole is. The tables are
the inventory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, get_args

from msgspec import UNSET, Raw, UnsetType, field

from turnlog.messages.base import Camel, Number, Open, OpenEnum, Snake, TypeEnum, UnknownTagged
from turnlog.messages.blocks import Citation, ContentBlock
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.hook_events import AssistantMessageError
from turnlog.messages.message import (
    Container,
    ContextManagement,
    Message,
    MessageError,
    MessageOrigin,
    StopDetails,
    StopReason,
    Usage,
)
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.options import EffortLevel, SessionKey
from turnlog.messages.system import CompactTrigger, Level


class DecisionReasonType(OpenEnum):
    """What made Claude Code ask."""

    RULE = "rule"
    MODE = "mode"
    SUBCOMMAND_RESULTS = "subcommandResults"
    PERMISSION_PROMPT_TOOL = "permissionPromptTool"
    HOOK = "hook"
    ASYNC_AGENT = "asyncAgent"
    SANDBOX_OVERRIDE = "sandboxOverride"
    WORKING_DIR = "workingDir"
    SAFETY_CHECK = "safetyCheck"
    CLASSIFIER = "classifier"
    OTHER = "other"


class SlashCommand(Camel):
    """A slash command or a skill that the user may call."""

    name: str
    description: str | UnsetType = UNSET
    argument_hint: str | UnsetType = UNSET
    aliases: tuple[str, ...] | UnsetType = UNSET
    builtin: bool | UnsetType = UNSET


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


class LoadedPlugin(Snake):
    """A plugin that is loaded."""

    name: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    version: str | UnsetType = UNSET


class ContextCategoryKind(OpenEnum):
    """Whether a part of the context is taken, free, kept free, or not loaded yet."""

    USED = "used"
    FREE = "free"
    BUFFER = "buffer"
    DEFERRED = "deferred"


class SessionTotals(Snake):
    """What a session has cost so far."""

    total_cost_usd: Number | UnsetType = UNSET
    total_api_duration_ms: Number | UnsetType = UNSET
    total_duration_ms: Number | UnsetType = UNSET
    total_lines_added: int | UnsetType = UNSET
    total_lines_removed: int | UnsetType = UNSET
    model_usage: dict[str, ModelUsage] | UnsetType = UNSET


class ExtraUsage(Snake):
    """What may be used, and was, beyond the plan."""

    is_enabled: bool | UnsetType = UNSET
    monthly_limit: Number | None | UnsetType = UNSET
    used_credits: Number | None | UnsetType = UNSET
    utilization: Number | None | UnsetType = UNSET
    currency: str | None | UnsetType = UNSET


class StreamMessage(Snake):
    """The fields that any message of the stream may carry."""

    uuid: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET


class TypedMessage(StreamMessage, tag_field="type"):
    """A message that its `type` alone tells apart."""

    type: ClassVar[str]


class SystemMessage(StreamMessage, tag_field="subtype"):
    """What the program itself has to say, told apart by `subtype`."""

    subtype: ClassVar[str]
    type: Literal["system"] = "system"


class UnknownMessage(UnknownTagged):
    """A message of the stream whose `type`, or whose `subtype` of `type: system`, nobody declared."""


class UnknownEvent(UnknownTagged):
    """A stream event of an unknown type."""


class UnknownDelta(UnknownTagged):
    """A change of a content block, of an unknown type."""


class DeltaBase(Snake, tag_field="type"):
    """A piece by which a content block grows."""

    type: ClassVar[str]


class TextDelta(DeltaBase, tag="text_delta"):
    """More text."""

    text: str


class InputJsonDelta(DeltaBase, tag="input_json_delta"):
    """More of the JSON text of a call's input; only the whole is JSON."""

    partial_json: str


class CitationsDelta(DeltaBase, tag="citations_delta"):
    """One more citation of a text."""

    citation: Citation


class ThinkingDelta(DeltaBase, tag="thinking_delta"):
    """More thinking; empty when the API keeps the words to itself."""

    thinking: str
    estimated_tokens: Number | None | UnsetType = UNSET


class SignatureDelta(DeltaBase, tag="signature_delta"):
    """The signature of a thinking block; it comes once, at the end."""

    signature: str


class CompactionDelta(DeltaBase, tag="compaction_delta"):
    """The content of a compaction; it comes at once."""

    content: str | None | UnsetType = UNSET
    encrypted_content: str | None | UnsetType = UNSET


Delta = Open[
    TextDelta | InputJsonDelta | CitationsDelta | ThinkingDelta | SignatureDelta | CompactionDelta, UnknownDelta
]


class EventBase(Snake, tag_field="type"):
    """One event of the API's stream."""

    type: ClassVar[str]


class MessageStart(EventBase, tag="message_start"):
    """A message begins; it has no content yet."""

    message: Message


class ContentBlockStart(EventBase, tag="content_block_start"):
    """A block begins, empty or whole."""

    index: int
    content_block: ContentBlock


class ContentBlockDelta(EventBase, tag="content_block_delta"):
    """A block grows."""

    index: int
    delta: Delta


class ContentBlockStop(EventBase, tag="content_block_stop"):
    """A block is complete."""

    index: int


class MessageChange(Snake):
    """What is known of a message only when its content is complete."""

    stop_reason: StopReason | None | UnsetType = UNSET
    stop_sequence: str | None | UnsetType = UNSET
    stop_details: StopDetails | None | UnsetType = UNSET
    container: Container | None | UnsetType = UNSET


class MessageDelta(EventBase, tag="message_delta"):
    """The message's stop reason, and its usage: running totals, which replace those of the start."""

    delta: MessageChange | UnsetType = UNSET
    usage: Usage | None | UnsetType = UNSET
    context_management: ContextManagement | None | UnsetType = UNSET


class MessageStop(EventBase, tag="message_stop"):
    """The message is complete."""


class Ping(EventBase, tag="ping"):
    """A sign of life."""


class ErrorEvent(EventBase, tag="error"):
    """The API broke off; the message stays as it is."""

    error: MessageError
    request_id: str | None | UnsetType = UNSET


StreamEvent = Open[
    MessageStart
    | ContentBlockStart
    | ContentBlockDelta
    | ContentBlockStop
    | MessageDelta
    | MessageStop
    | Ping
    | ErrorEvent,
    UnknownEvent,
]


class ContextExcessKind(OpenEnum):
    """Which bound the context passed."""

    HARD_LIMIT = "hard_limit"
    COMPACTION_WINDOW = "compaction_window"


class ContextExcess(Snake):
    """By how much the context is too long."""

    tokens_over: int | UnsetType = UNSET
    kind: ContextExcessKind | UnsetType = UNSET


class ContextPart(Snake):
    """One part of the context window."""

    name: str | UnsetType = UNSET
    tokens: int | UnsetType = UNSET
    kind: ContextCategoryKind | UnsetType = UNSET


class ContextMcpTool(Snake):
    """What the description of a server's tool takes."""

    name: str | UnsetType = UNSET
    server_name: str | UnsetType = UNSET
    tokens: int | UnsetType = UNSET


class ContextMemoryFile(Snake):
    """What a memory file takes."""

    path: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    tokens: int | UnsetType = UNSET


class ContextAgent(Snake):
    """What the description of an agent takes."""

    agent_type: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    tokens: int | UnsetType = UNSET


class ContextSkill(Snake):
    """What the description of a skill takes."""

    name: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    plugin_name: str | UnsetType = UNSET
    tokens: int | UnsetType = UNSET


class ContextUsage(Snake):
    """What fills the context window, as `/context` shows it."""

    model: str | UnsetType = UNSET
    total_tokens: int | UnsetType = UNSET
    raw_max_tokens: int | UnsetType = UNSET
    percentage: Number | UnsetType = UNSET
    over_limit: ContextExcess | UnsetType = UNSET
    categories: tuple[ContextPart, ...] | UnsetType = UNSET
    mcp_tools: tuple[ContextMcpTool, ...] | UnsetType = UNSET
    memory_files: tuple[ContextMemoryFile, ...] | UnsetType = UNSET
    agents: tuple[ContextAgent, ...] | UnsetType = UNSET
    skills: tuple[ContextSkill, ...] | UnsetType = UNSET


class LimitSubject(Snake):
    """The model or the place that a limit applies to."""

    display_name: str | UnsetType = UNSET


class LimitScope(Snake):
    """What a limit applies to."""

    model: LimitSubject | None | UnsetType = UNSET
    surface: LimitSubject | None | UnsetType = UNSET


class UsageLimit(Snake):
    """How much of one limit of the plan is used up."""

    kind: str | UnsetType = UNSET
    group: str | UnsetType = UNSET
    percent: Number | UnsetType = UNSET
    resets_at: str | None | UnsetType = UNSET
    scope: LimitScope | None | UnsetType = UNSET
    severity: str | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET


class UsageLimits(Snake):
    """The limits of the plan."""

    limits: tuple[UsageLimit, ...] | None | UnsetType = UNSET
    extra_usage: ExtraUsage | None | UnsetType = UNSET


class UsageReport(Snake):
    """Costs and limits, as `/usage` shows them."""

    session: SessionTotals | UnsetType = UNSET
    rate_limits: UsageLimits | None | UnsetType = UNSET


class AssistantMessage(TypedMessage, tag="assistant"):
    """One block of an answer, or a notice of the program in the shape of an answer."""

    message: Message
    parent_tool_use_id: str | None | UnsetType = UNSET
    """The call that started the sub-agent; null on the main thread."""
    error: AssistantMessageError | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET
    """The prompt that this turn answers, by the name the host gave it."""
    user_message_uuids: tuple[str, ...] | UnsetType = UNSET
    resume_reason: str | UnsetType = UNSET
    resumed_from_incomplete_thinking: bool | UnsetType = UNSET
    supersedes: tuple[str, ...] | UnsetType = UNSET
    """Earlier messages that go when this one comes."""
    aborted: bool | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    task_description: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    context_usage: ContextUsage | UnsetType = UNSET
    usage_report: UsageReport | UnsetType = UNSET
    thinking_duration_ms: Number | UnsetType = UNSET
    thinking_display: str | UnsetType = UNSET
    is_api_error_message: bool | UnsetType = UNSET
    api_error_status: int | None | UnsetType = UNSET
    api_error_type: str | None | UnsetType = UNSET


class UserPriority(OpenEnum):
    """When a prompt that comes during a turn is to be heard."""

    NOW = "now"
    NEXT = "next"
    LATER = "later"


class ToolResultPermission(Snake):
    """How it was decided whether a call may run."""

    decision: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    reason_type: str | UnsetType = UNSET
    reason_code: str | UnsetType = UNSET


class ToolResultMeta(Snake):
    """What is known of a result beside what it says."""

    id: str | UnsetType = UNSET
    """The call's."""
    permission_decision: ToolResultPermission | UnsetType = UNSET
    non_execution_kind: str | UnsetType = UNSET
    """Why the call did not run: what `toolDenialKind` says on disk."""


class UserFields(TypedMessage):
    """What prompts, tool results and their echoes have in common."""

    message: Message
    parent_tool_use_id: str | None | UnsetType = UNSET
    """The call that started the sub-agent; null on the main thread."""
    is_synthetic: bool | UnsetType = field(name="isSynthetic", default=UNSET)
    tool_use_result: Raw | UnsetType = UNSET
    """`tool_io.view_result` gives it a type."""
    tool_result_meta: tuple[ToolResultMeta, ...] | UnsetType = UNSET
    priority: UserPriority | UnsetType = UNSET
    origin: MessageOrigin | str | None | UnsetType = UNSET
    should_query: bool | UnsetType = field(name="shouldQuery", default=UNSET)
    """False adds the message without starting a turn."""
    timestamp: str | UnsetType = UNSET
    client_composed: bool | UnsetType = UNSET


class UserMessage(UserFields, tag="user"):
    """A prompt or a tool's result."""

    pasted_content: tuple[str | tuple[ContentBlock, ...], ...] | UnsetType = UNSET
    inline_pastes: tuple[str, ...] | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    task_description: str | UnsetType = UNSET
    is_replay: Literal[False] | UnsetType = field(name="isReplay", default=UNSET)


class UserMessageReplay(UserFields, tag="user"):
    """The echo of a prompt that was accepted, or that stood in the history."""

    is_replay: Literal[True] = field(name="isReplay", default=True)
    file_attachments: tuple[Raw, ...] | UnsetType = UNSET


class PartialAssistantMessage(TypedMessage, tag="stream_event"):
    """One event of an answer in the making; the complete messages replace it."""

    event: StreamEvent
    parent_tool_use_id: str | None | UnsetType = UNSET
    ttft_ms: Number | UnsetType = UNSET
    api_message_id: str | UnsetType = UNSET
    thinking_display: str | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET
    user_message_uuids: tuple[str, ...] | UnsetType = UNSET
    resume_reason: str | UnsetType = UNSET
    owed_rows: tuple[Raw, ...] | UnsetType = UNSET
    """Observed without any; not documented."""


class ResultSubtype(TypeEnum):
    """How a turn ended."""

    SUCCESS = "success"
    ERROR_DURING_EXECUTION = "error_during_execution"
    ERROR_MAX_TURNS = "error_max_turns"
    ERROR_MAX_BUDGET_USD = "error_max_budget_usd"
    ERROR_MAX_STRUCTURED_OUTPUT_RETRIES = "error_max_structured_output_retries"


class TerminalReason(OpenEnum):
    """Why the loop of calls and answers came to its end."""

    BLOCKING_LIMIT = "blocking_limit"
    RAPID_REFILL_BREAKER = "rapid_refill_breaker"
    PROMPT_TOO_LONG = "prompt_too_long"
    IMAGE_ERROR = "image_error"
    MODEL_ERROR = "model_error"
    ABORTED_STREAMING = "aborted_streaming"
    ABORTED_TOOLS = "aborted_tools"
    STOP_HOOK_PREVENTED = "stop_hook_prevented"
    HOOK_STOPPED = "hook_stopped"
    TOOL_DEFERRED = "tool_deferred"
    MAX_TURNS = "max_turns"
    COMPLETED = "completed"
    BACKGROUND_REQUESTED = "background_requested"
    API_ERROR = "api_error"
    MALFORMED_TOOL_USE_EXHAUSTED = "malformed_tool_use_exhausted"
    BUDGET_EXHAUSTED = "budget_exhausted"
    STRUCTURED_OUTPUT_RETRY_EXHAUSTED = "structured_output_retry_exhausted"
    TOOL_DEFERRED_UNAVAILABLE = "tool_deferred_unavailable"
    TURN_SETUP_FAILED = "turn_setup_failed"


class StartupFailureReason(OpenEnum):
    """Why a run could not even start."""

    ORG_PIN_API_KEY_CONFLICT = "org_pin_api_key_conflict"
    ORG_VERIFY_FAILED = "org_verify_failed"
    ORG_PIN_MISMATCH = "org_pin_mismatch"
    MANAGED_SETTINGS_INVALID = "managed_settings_invalid"
    REMOTE_SETTINGS_REQUIRED_UNAVAILABLE = "remote_settings_required_unavailable"
    GATEWAY_SIGNIN_REQUIRED = "gateway_signin_required"
    GATEWAY_ACCESS_DENIED = "gateway_access_denied"
    PROXY_INVALID = "proxy_invalid"
    TEMP_DIR_UNUSABLE = "temp_dir_unusable"
    CWD_UNAVAILABLE = "cwd_unavailable"
    SHELL_TOOL_MISSING = "shell_tool_missing"
    SESSION_HELD_BY_BACKGROUND = "session_held_by_background"
    WORKTREE_RESUME_REFUSED = "worktree_resume_refused"
    WORKTREE_UNVERIFIED = "worktree_unverified"
    CLI_VERSION_TOO_OLD = "cli_version_too_old"
    BYPASS_ROOT = "bypass_root"
    PROVIDER_NOT_ALLOWED = "provider_not_allowed"
    ORG_CONFIG_REQUIRED_UNAVAILABLE = "org_config_required_unavailable"
    ORG_CONFIG_REFUSED = "org_config_refused"
    SANDBOX_REQUIRED_UNAVAILABLE = "sandbox_required_unavailable"
    INITIALIZE_NOT_FIRST = "initialize_not_first"
    CONFIG_FILE_INVALID = "config_file_invalid"
    MANAGED_SETTINGS_NOT_DELIVERED = "managed_settings_not_delivered"


class QueuedBehind(OpenEnum):
    """What the first piece of an answer had to wait for."""

    DURABLE_POST = "durable_post"
    EPHEMERAL_POST = "ephemeral_post"
    RETRY_BACKOFF = "retry_backoff"
    HOLD = "hold"
    NONE = "none"


class PermissionDenial(Snake):
    """A call that was not allowed."""

    tool_name: str | UnsetType = UNSET
    tool_use_id: str | UnsetType = UNSET
    tool_input: Raw | UnsetType = UNSET
    """`tool_io.view_input` gives it a type."""


class DeferredToolUse(Snake):
    """A call that a hook put off."""

    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    input: Raw | UnsetType = UNSET
    """`tool_io.view_input` gives it a type."""


class InvalidConfigFile(Snake):
    """A configuration file that could not be read."""

    path: str | UnsetType = UNSET
    is_global: bool | UnsetType = UNSET
    backup_searched: bool | UnsetType = UNSET
    backup_path: str | UnsetType = UNSET


class RequestedPlaces(Snake):
    """Where agents were asked to run."""

    background: int | UnsetType = UNSET
    foreground: int | UnsetType = UNSET
    unset: int | UnsetType = UNSET


class KilledAgents(Snake):
    """How many agents were ended, by who ended them."""

    parent: int | UnsetType = UNSET
    user: int | UnsetType = UNSET
    system: int | UnsetType = UNSET


class RefusedAgents(Snake):
    """How many agents were not started, and why."""

    depth_limit: int | UnsetType = UNSET
    concurrency_limit: int | UnsetType = UNSET
    budget: int | UnsetType = UNSET


class SubagentStats(Snake):
    """What became of the session's agents so far."""

    spawned: int | UnsetType = UNSET
    requested: RequestedPlaces | UnsetType = UNSET
    started_in_background: int | UnsetType = UNSET
    max_depth: int | UnsetType = UNSET
    spawned_by_subagents: int | UnsetType = UNSET
    completed: int | UnsetType = UNSET
    failed: int | UnsetType = UNSET
    killed: KilledAgents | UnsetType = UNSET
    refused: RefusedAgents | UnsetType = UNSET
    by_type: dict[str, int] | UnsetType = UNSET


class ResultMessage(TypedMessage, tag="result"):
    """A turn ended."""

    subtype: ResultSubtype
    is_error: bool | UnsetType = UNSET
    """True also on a `success` that reports an API error, false on some `error_…`: ask `rules.has_failed`."""
    api_error_status: int | None | UnsetType = UNSET
    api_error_type: str | None | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET
    duration_api_ms: Number | UnsetType = UNSET
    num_turns: int | UnsetType = UNSET
    result: str | UnsetType = UNSET
    """The last text of the answer, on success."""
    errors: tuple[str, ...] | UnsetType = UNSET
    """What went wrong, on failure."""
    stop_reason: StopReason | None | UnsetType = UNSET
    total_cost_usd: Number | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    model_usage: dict[str, ModelUsage] | UnsetType = field(name="modelUsage", default=UNSET)
    model_usage_since_last_result: dict[str, ModelUsage] | UnsetType = UNSET
    subagent_stats: SubagentStats | UnsetType = UNSET
    safety_stops: int | UnsetType = UNSET
    permission_denials: tuple[PermissionDenial, ...] | UnsetType = UNSET
    structured_output: Raw | UnsetType = UNSET
    deferred_tool_use: DeferredToolUse | UnsetType = UNSET
    terminal_reason: TerminalReason | UnsetType = UNSET
    fast_mode_state: FastModeState | UnsetType = UNSET
    fast_mode_disabled_reason: FastModeDisabledReason | UnsetType = UNSET
    queued_turn_count: int | UnsetType = UNSET
    result_index: int | UnsetType = UNSET
    credential_expires_at: str | UnsetType = UNSET
    origin: MessageOrigin | str | None | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET
    user_message_uuids: tuple[str, ...] | UnsetType = UNSET
    resume_reason: str | UnsetType = UNSET
    local_command: str | UnsetType = UNSET
    startup_failure_reason: StartupFailureReason | UnsetType = UNSET
    invalid_config_file: InvalidConfigFile | UnsetType = UNSET
    ttft_ms: Number | UnsetType = UNSET
    """Milliseconds to the first token, as all that follow measure how soon the answer came."""
    ttft_stream_ms: Number | UnsetType = UNSET
    time_to_request_ms: Number | UnsetType = UNSET
    time_to_request_from_spawn_ms: Number | UnsetType = UNSET
    time_origin_ms: Number | UnsetType = UNSET
    warm_spare_claimed: bool | UnsetType = UNSET
    request_sent_wall_ms: Number | UnsetType = UNSET
    first_request_input_tokens: int | UnsetType = UNSET
    """Of the turn's first request, all of its input."""
    first_request_cache_read_input_tokens: int | UnsetType = UNSET
    first_content_frame_ms: Number | UnsetType = UNSET
    first_stream_post_ms: Number | UnsetType = UNSET
    first_stream_post_ack_ms: Number | UnsetType = UNSET
    first_stream_post_queue_wait_ms: Number | UnsetType = UNSET
    first_stream_post_queued_behind: QueuedBehind | UnsetType = UNSET
    first_stream_post_wall_ms: Number | UnsetType = UNSET
    first_text_post_ms: Number | UnsetType = UNSET
    first_text_post_queue_wait_ms: Number | UnsetType = UNSET
    first_text_post_queued_behind: QueuedBehind | UnsetType = UNSET
    first_text_post_wall_ms: Number | UnsetType = UNSET


def has_failed(result: ResultMessage) -> bool:
    """Tell whether a turn failed: a success can be an error, and running out of turns is no `is_error`."""
    return result.is_error is True or result.subtype is not ResultSubtype.SUCCESS


class SubagentRetry(Snake):
    """A request of a sub-agent that failed and is tried again."""

    agent_id: str | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    max_retries: int | UnsetType = UNSET
    retry_delay_ms: Number | UnsetType = UNSET
    error_status: int | None | UnsetType = UNSET
    error_category: str | UnsetType = UNSET


class ToolProgressMessage(TypedMessage, tag="tool_progress"):
    """A call is still running."""

    tool_use_id: str
    tool_name: str | UnsetType = UNSET
    parent_tool_use_id: str | None | UnsetType = UNSET
    elapsed_time_seconds: Number | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    heartbeat: bool | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    subagent_retry: SubagentRetry | UnsetType = UNSET


class ToolUseSummaryMessage(TypedMessage, tag="tool_use_summary"):
    """A label for a group of calls."""

    summary: str
    preceding_tool_use_ids: tuple[str, ...] | UnsetType = UNSET


class PermissionDeniedMessage(SystemMessage, tag="permission_denied"):
    """A call was not allowed, without anybody being asked."""

    tool_name: str | UnsetType = UNSET
    tool_use_id: str | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    decision_reason_type: DecisionReasonType | UnsetType = UNSET
    decision_reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    """What the model was told."""


class ElicitationCompleteMessage(SystemMessage, tag="elicitation_complete"):
    """A question that a server asked by way of a web page is settled."""

    mcp_server_name: str | UnsetType = UNSET
    elicitation_id: str | UnsetType = UNSET


class LimitStatus(OpenEnum):
    """Whether a limit lets requests pass."""

    ALLOWED = "allowed"
    ALLOWED_WARNING = "allowed_warning"
    REJECTED = "rejected"


class RateLimitType(OpenEnum):
    """Which limit it is."""

    FIVE_HOUR = "five_hour"
    SEVEN_DAY = "seven_day"
    SEVEN_DAY_OPUS = "seven_day_opus"
    SEVEN_DAY_SONNET = "seven_day_sonnet"
    SEVEN_DAY_OVERAGE_INCLUDED = "seven_day_overage_included"
    OVERAGE = "overage"


class OverageDisabledReason(OpenEnum):
    """Why nothing beyond the plan may be used."""

    OVERAGE_NOT_PROVISIONED = "overage_not_provisioned"
    ORG_LEVEL_DISABLED = "org_level_disabled"
    ORG_LEVEL_DISABLED_UNTIL = "org_level_disabled_until"
    OUT_OF_CREDITS = "out_of_credits"
    SEAT_TIER_LEVEL_DISABLED = "seat_tier_level_disabled"
    MEMBER_LEVEL_DISABLED = "member_level_disabled"
    SEAT_TIER_ZERO_CREDIT_LIMIT = "seat_tier_zero_credit_limit"
    GROUP_ZERO_CREDIT_LIMIT = "group_zero_credit_limit"
    MEMBER_ZERO_CREDIT_LIMIT = "member_zero_credit_limit"
    ORG_SERVICE_LEVEL_DISABLED = "org_service_level_disabled"
    NO_LIMITS_CONFIGURED = "no_limits_configured"
    FETCH_ERROR = "fetch_error"
    UNKNOWN_REASON = "unknown"


class SpendLimit(OpenEnum):
    """Whose spending limit was reached."""

    SERVICE = "service"
    CHANNEL = "channel"
    GROUP_POOL = "group_pool"


class LimitError(OpenEnum):
    """What is missing to go on."""

    CREDITS_REQUIRED = "credits_required"


class RateLimitInfo(Camel):
    """How near a limit is."""

    status: LimitStatus | UnsetType = UNSET
    resets_at: Number | UnsetType = UNSET
    """Seconds since 1970, as `overage_resets_at`."""
    rate_limit_type: RateLimitType | UnsetType = UNSET
    utilization: Number | UnsetType = UNSET
    overage_status: LimitStatus | UnsetType = UNSET
    overage_resets_at: Number | UnsetType = UNSET
    overage_disabled_reason: OverageDisabledReason | UnsetType = UNSET
    is_using_overage: bool | UnsetType = UNSET
    overage_in_use: bool | UnsetType = UNSET
    overage_enabled: bool | UnsetType = UNSET
    surpassed_threshold: Number | UnsetType = UNSET
    limit_scope: SpendLimit | UnsetType = UNSET
    error_code: LimitError | UnsetType = UNSET
    can_user_purchase_credits: bool | UnsetType = UNSET
    has_chargeable_saved_payment_method: bool | UnsetType = UNSET


class RateLimitEvent(TypedMessage, tag="rate_limit_event"):
    """The state of a limit changed."""

    rate_limit_info: RateLimitInfo | UnsetType = UNSET


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


class Status(OpenEnum):
    """What the program is busy with."""

    COMPACTING = "compacting"
    REQUESTING = "requesting"


class CompactResult(OpenEnum):
    """What came of a compaction."""

    SUCCESS = "success"
    FAILED = "failed"


class StatusMessage(SystemMessage, tag="status"):
    """What the program is busy with, or null; and the permission mode, when it changed."""

    status: Status | None | UnsetType = UNSET
    permission_mode: PermissionMode | UnsetType = field(name="permissionMode", default=UNSET)
    compact_result: CompactResult | UnsetType = UNSET
    compact_error: str | UnsetType = UNSET
    compact_output_chars: int | UnsetType = UNSET
    user_message_uuids: tuple[str, ...] | UnsetType = UNSET
    """The prompts that this turn answers, by the names the host gave them."""


class NoResponse(Snake):
    """How long an answer was waited for in vain."""

    waited_ms: Number | UnsetType = UNSET
    retry_wait_ms: Number | UnsetType = UNSET


class ApiRetryMessage(SystemMessage, tag="api_retry"):
    """A request failed and is tried again."""

    attempt: int | UnsetType = UNSET
    max_retries: int | UnsetType = UNSET
    retry_delay_ms: Number | UnsetType = UNSET
    error_status: int | None | UnsetType = UNSET
    """The HTTP status; null when there was no connection."""
    error: AssistantMessageError | UnsetType = UNSET
    no_response: NoResponse | UnsetType = UNSET


class ControlRequestStatus(OpenEnum):
    """How far a control request has come."""

    STARTED = "started"
    API_RETRY = "api_retry"


class ControlRequestProgressMessage(SystemMessage, tag="control_request_progress"):
    """A control request is still being worked on; the counters come with `api_retry`."""

    request_id: str | UnsetType = UNSET
    status: ControlRequestStatus | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    max_retries: int | UnsetType = UNSET
    retry_delay_ms: Number | UnsetType = UNSET
    error_status: int | None | UnsetType = UNSET


class ThinkingTokensMessage(SystemMessage, tag="thinking_tokens"):
    """How much the model has thought so far, by estimate."""

    estimated_tokens: int | UnsetType = UNSET
    estimated_tokens_delta: int | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET


class SessionState(OpenEnum):
    """Whether anything goes on."""

    IDLE = "idle"
    RUNNING = "running"
    REQUIRES_ACTION = "requires_action"


class SessionStateChangedMessage(SystemMessage, tag="session_state_changed"):
    """Whether anything goes on; `idle` says for certain that nothing does."""

    state: SessionState


class WorkerShuttingDownMessage(SystemMessage, tag="worker_shutting_down"):
    """The program is about to end."""

    reason: str | UnsetType = UNSET


class AuthStatusMessage(TypedMessage, tag="auth_status"):
    """How a login is getting on."""

    is_authenticating: bool | UnsetType = field(name="isAuthenticating", default=UNSET)
    output: tuple[str, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET


class ActiveGoal(Snake):
    """A goal that the session works towards by itself."""

    condition: str | UnsetType = UNSET
    iterations: int | UnsetType = UNSET
    set_at: Number | UnsetType = UNSET
    tokens_at_start: int | UnsetType = UNSET
    last_reason: str | UnsetType = UNSET


class ActiveGoalMessage(TypedMessage, tag="active_goal"):
    """The goal as it stands; null when it was given up or reached."""

    value: ActiveGoal | None | UnsetType = UNSET


class KeptSegment(Snake):
    """The messages that a compaction kept: the older form, by both ends."""

    head_uuid: str | UnsetType = UNSET
    anchor_uuid: str | UnsetType = UNSET
    tail_uuid: str | UnsetType = UNSET


class KeptMessages(Snake):
    """The messages that a compaction kept, one by one; the first follows the anchor."""

    anchor_uuid: str | UnsetType = UNSET
    uuids: tuple[str, ...] | UnsetType = UNSET
    all_uuids: tuple[str, ...] | UnsetType = UNSET


class CompactDetails(Snake):
    """What a compaction did."""

    trigger: CompactTrigger | UnsetType = UNSET
    pre_tokens: int | UnsetType = UNSET
    post_tokens: int | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET
    cumulative_dropped_tokens: int | UnsetType = UNSET
    preserved_segment: KeptSegment | None | UnsetType = UNSET
    preserved_messages: KeptMessages | None | UnsetType = UNSET


class CompactBoundaryMessage(SystemMessage, tag="compact_boundary"):
    """A compaction took place here."""

    compact_metadata: CompactDetails | UnsetType = UNSET
    logical_parent_uuid: str | None | UnsetType = UNSET


class TaskEnd(OpenEnum):
    """How a task ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


class TaskEndReason(OpenEnum):
    """What ended a task from outside."""

    WORKER_RESTART = "worker_restart"


class TaskState(OpenEnum):
    """What state a task is in."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    PAUSED = "paused"


class TaskUsage(Snake):
    """What a task has used so far."""

    total_tokens: int | UnsetType = UNSET
    tool_uses: int | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET


class TaskLink(Camel):
    """A resource that a task of a server came up with."""

    uri: str
    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    annotations: dict[str, Raw] | UnsetType = UNSET


class _TaskMessage(SystemMessage):
    task_id: str
    run_id: str | UnsetType = UNSET


class TaskStartedMessage(_TaskMessage, tag="task_started"):
    """A task started."""

    tool_use_id: str | None | UnsetType = UNSET
    description: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    is_backgrounded: bool | UnsetType = UNSET
    spawn_depth: int | UnsetType = UNSET
    parent_task_id: str | UnsetType = UNSET
    task_type: str | UnsetType = UNSET
    """`local_agent`, `local_bash`, `local_workflow`, `mcp_task` and the like."""
    workflow_name: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    skip_transcript: bool | UnsetType = UNSET
    ambient: bool | UnsetType = UNSET
    """Whether it is a watcher or housekeeping, which does not count as activity."""


class TaskPatch(Snake):
    """What changed about a task; the rest stays."""

    status: TaskState | UnsetType = UNSET
    description: str | UnsetType = UNSET
    end_time: Number | UnsetType = UNSET
    total_paused_ms: Number | UnsetType = UNSET
    error: str | UnsetType = UNSET
    is_backgrounded: bool | UnsetType = UNSET


class TaskUpdatedMessage(_TaskMessage, tag="task_updated"):
    """A task changed."""

    patch: TaskPatch | UnsetType = UNSET


class TaskProgressMessage(_TaskMessage, tag="task_progress"):
    """How far a task has come."""

    tool_use_id: str | None | UnsetType = UNSET
    description: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    usage: TaskUsage | UnsetType = UNSET
    last_tool_name: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET


class TaskNotificationMessage(_TaskMessage, tag="task_notification"):
    """A task ended."""

    tool_use_id: str | None | UnsetType = UNSET
    status: TaskEnd | UnsetType = UNSET
    reason: TaskEndReason | UnsetType = UNSET
    output_file: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    usage: TaskUsage | UnsetType = UNSET
    resource_links: tuple[TaskLink, ...] | UnsetType = UNSET
    skip_transcript: bool | UnsetType = UNSET
    ambient: bool | UnsetType = UNSET


class LiveTask(Snake):
    """A task that is running."""

    task_id: str
    run_id: str | UnsetType = UNSET
    task_type: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    parent_task_id: str | UnsetType = UNSET
    ambient: bool | UnsetType = UNSET


class BackgroundTasksChangedMessage(SystemMessage, tag="background_tasks_changed"):
    """All tasks that are running now."""

    tasks: tuple[LiveTask, ...]


class TaskSummaryMessage(SystemMessage, tag="task_summary"):
    """What the turn is at, in a line; null when there is nothing to say. Not documented, but seen."""

    detail: str | None | UnsetType = UNSET


class HookOutcome(OpenEnum):
    """How a hook ended."""

    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"


class _HookMessage(SystemMessage):
    hook_id: str | UnsetType = UNSET
    """Absent in versions before 0.2.18."""
    hook_name: str | UnsetType = UNSET
    hook_event: str | UnsetType = UNSET


class HookStartedMessage(_HookMessage, tag="hook_started"):
    """A hook started."""


class HookProgressMessage(_HookMessage, tag="hook_progress"):
    """What a running hook has written so far."""

    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    output: str | UnsetType = UNSET


class HookResponseMessage(_HookMessage, tag="hook_response"):
    """A hook ended."""

    output: str | UnsetType = UNSET
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    exit_code: int | None | UnsetType = UNSET
    outcome: HookOutcome | UnsetType = UNSET


class RefusalTrigger(OpenEnum):
    """What made another model take over."""

    REFUSAL = "refusal"


class RefusalDirection(OpenEnum):
    """Whether another model answers once, no longer, or from now on."""

    RETRY = "retry"
    REVERT = "revert"
    STICKY = "sticky"


class RefusalScope(OpenEnum):
    """What the change of model applies to: the session, or a sub-agent or side question only."""

    SESSION = "session"
    LOCAL = "local"


class _RefusalMessage(SystemMessage):
    original_model: str | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    api_refusal_category: str | None | UnsetType = UNSET
    api_refusal_explanation: str | None | UnsetType = UNSET
    refused_user_message_uuid: str | None | UnsetType = UNSET
    content: str | UnsetType = UNSET


class ModelRefusalFallbackMessage(_RefusalMessage, tag="model_refusal_fallback"):
    """A model refused, and another one took over; what was retracted is to go."""

    trigger: RefusalTrigger | UnsetType = UNSET
    direction: RefusalDirection | UnsetType = UNSET
    scope: RefusalScope | UnsetType = UNSET
    fallback_model: str | UnsetType = UNSET
    retracted_message_uuids: tuple[str, ...] | UnsetType = UNSET


class ModelRefusalNoFallbackMessage(_RefusalMessage, tag="model_refusal_no_fallback"):
    """A model refused, and none took over."""


class LocalCommandOutputMessage(SystemMessage, tag="local_command_output"):
    """What a slash command printed that the program itself carried out."""

    content: str


class InformationalMessage(SystemMessage, tag="informational"):
    """A remark, more or less loud."""

    content: str
    level: Level | UnsetType = UNSET
    tool_use_id: str | UnsetType = UNSET
    prevent_continuation: bool | UnsetType = UNSET
    tag: str | UnsetType = UNSET


class NotificationPriority(OpenEnum):
    """How urgent a notification is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    IMMEDIATE = "immediate"


class NotificationMessage(SystemMessage, tag="notification"):
    """A toast; a later one with the same key takes its place."""

    key: str | UnsetType = UNSET
    text: str
    priority: NotificationPriority | UnsetType = UNSET
    color: str | UnsetType = UNSET
    timeout_ms: Number | UnsetType = UNSET


class MemoryRecallMode(OpenEnum):
    """Whether whole files were recalled, or what a model made of them."""

    SELECT = "select"
    SYNTHESIZE = "synthesize"


class MemoryScope(OpenEnum):
    """Whose memory it is."""

    PERSONAL = "personal"
    TEAM = "team"
    ORGANIZATION = "organization"


class RecalledMemory(Snake):
    """One thing that was recalled."""

    path: str | UnsetType = UNSET
    """A file, a URL, or a mark that there is no file."""
    scope: MemoryScope | UnsetType = UNSET
    content: str | UnsetType = UNSET


class MemoryRecallMessage(SystemMessage, tag="memory_recall"):
    """What the program recalled by itself for this turn."""

    mode: MemoryRecallMode | UnsetType = UNSET
    memories: tuple[RecalledMemory, ...] | UnsetType = UNSET


class PromptSuggestionMessage(TypedMessage, tag="prompt_suggestion"):
    """What the user might say next; it comes after the result."""

    suggestion: str


class PostTurnSummaryMessage(SystemMessage, tag="post_turn_summary"):
    """Where things stand after a turn. Not documented, but seen."""

    summarizes_uuid: str | UnsetType = UNSET
    status_category: str | UnsetType = UNSET
    """`review_ready`, `blocked` and the like."""
    status_detail: str | UnsetType = UNSET
    needs_action: str | UnsetType = UNSET


class PluginInstallStatus(OpenEnum):
    """How far the installation of plugins has come."""

    STARTED = "started"
    INSTALLED = "installed"
    FAILED = "failed"
    COMPLETED = "completed"


class PluginInstallMessage(SystemMessage, tag="plugin_install"):
    """Plugins are being installed; `name` says which one was, or failed."""

    status: PluginInstallStatus | UnsetType = UNSET
    name: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class CommandsChangedMessage(SystemMessage, tag="commands_changed"):
    """All commands that there are now."""

    commands: tuple[SlashCommand, ...]


class PersistedFile(Snake):
    """A file that was uploaded."""

    filename: str | UnsetType = UNSET
    file_id: str | UnsetType = UNSET


class FailedFile(Snake):
    """A file that was not uploaded."""

    filename: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class FilesPersistedEvent(SystemMessage, tag="files_persisted"):
    """Files were uploaded."""

    files: tuple[PersistedFile, ...] | UnsetType = UNSET
    failed: tuple[FailedFile, ...] | UnsetType = UNSET
    processed_at: str | UnsetType = UNSET


class MirrorErrorMessage(SystemMessage, tag="mirror_error"):
    """The host's store failed, and lines were dropped."""

    error: str | UnsetType = UNSET
    key: SessionKey | UnsetType = UNSET


class TranscriptMirrorMessage(TypedMessage, tag="transcript_mirror"):
    """Lines that were added to a session file, for the host's store."""

    file_path: str | UnsetType = field(name="filePath", default=UNSET)
    entries: tuple[Raw, ...] | UnsetType = UNSET
    """`turnlog.decode` gives each a type."""


class ResetTrigger(OpenEnum):
    """What made a conversation start afresh."""

    CLEAR = "clear"
    PLAN_MODE_EXIT = "plan_mode_exit"
    FRESH_SESSION = "fresh_session"
    ONBOARDING = "onboarding"


class ConversationResetMessage(TypedMessage, tag="conversation_reset"):
    """A fresh conversation starts here."""

    new_conversation_id: str | UnsetType = UNSET
    trigger: ResetTrigger | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET


class CommandState(OpenEnum):
    """How far the program is with a prompt."""

    QUEUED = "queued"
    STARTED = "started"
    COMPLETED = "completed"


class CommandLifecycleMessage(TypedMessage, tag="command_lifecycle"):
    """How far the program is with a prompt that the host gave a name; observed, not documented."""

    command_uuid: str | UnsetType = UNSET
    """The prompt, by the name the host gave it."""
    state: CommandState | UnsetType = UNSET


class WriteErrorCode(OpenEnum):
    """Why nothing could be written: the disk or the quota is full."""

    ENOSPC = "ENOSPC"
    EDQUOT = "EDQUOT"


class LostRecord(OpenEnum):
    """What was not saved."""

    TRANSCRIPT = "transcript"
    GLOBAL_CONFIG = "global_config"


class SessionWritesLostMessage(SystemMessage, tag="session_writes_lost"):
    """The program ended without saving everything."""

    error_code: WriteErrorCode | UnsetType = UNSET
    lost: tuple[LostRecord, ...] | UnsetType = UNSET
    transcript_session_ids: tuple[str, ...] | UnsetType = UNSET


SystemSubtypeMessage = (
    SystemInitMessage
    | CompactBoundaryMessage
    | StatusMessage
    | ApiRetryMessage
    | ControlRequestProgressMessage
    | ModelRefusalFallbackMessage
    | ModelRefusalNoFallbackMessage
    | LocalCommandOutputMessage
    | HookStartedMessage
    | HookProgressMessage
    | HookResponseMessage
    | PluginInstallMessage
    | TaskNotificationMessage
    | TaskStartedMessage
    | TaskUpdatedMessage
    | TaskProgressMessage
    | BackgroundTasksChangedMessage
    | ThinkingTokensMessage
    | SessionStateChangedMessage
    | WorkerShuttingDownMessage
    | CommandsChangedMessage
    | NotificationMessage
    | FilesPersistedEvent
    | MemoryRecallMessage
    | ElicitationCompleteMessage
    | PermissionDeniedMessage
    | MirrorErrorMessage
    | InformationalMessage
    | SessionWritesLostMessage
    | PostTurnSummaryMessage
    | TaskSummaryMessage
)
"""A message of `type: system`."""


_TypeMessage = (
    AssistantMessage
    | UserMessage
    | ResultMessage
    | PartialAssistantMessage
    | ToolProgressMessage
    | AuthStatusMessage
    | ToolUseSummaryMessage
    | RateLimitEvent
    | PromptSuggestionMessage
    | ConversationResetMessage
    | CommandLifecycleMessage
    | ActiveGoalMessage
    | TranscriptMirrorMessage
)

SdkMessage = _TypeMessage | UserMessageReplay | SystemSubtypeMessage | UnknownMessage
"""Any message of the stream, without the control protocol."""

STREAM_TYPES: Mapping[str, type[TypedMessage]] = {
    str(cls.__struct_config__.tag): cls for cls in get_args(_TypeMessage)
}
"""The classes by `type`; of the two for `user`, the one that is no echo."""

SYSTEM_SUBTYPES: Mapping[str, type[SystemMessage]] = {
    str(cls.__struct_config__.tag): cls for cls in get_args(SystemSubtypeMessage)
}
"""The classes of `type: system` by `subtype`."""


class StreamHead(Snake, forbid_unknown_fields=False):
    """What tells messages of the stream apart."""

    type: str | None | UnsetType = UNSET
    subtype: str | None | UnsetType = UNSET
    is_replay: bool | None | UnsetType = field(name="isReplay", default=UNSET)


def find_class(head: StreamHead) -> type[StreamMessage] | None:
    """Return the class of the message with this head, or None if nobody declared it."""
    if head.type == "system":
        return SYSTEM_SUBTYPES.get(head.subtype) if isinstance(head.subtype, str) else None
    if head.type == "user" and head.is_replay is True:
        return UserMessageReplay
    return STREAM_TYPES.get(head.type) if isinstance(head.type, str) else None
