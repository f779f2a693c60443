"""The conversation as the SDK's stream tells it: prompts, answers, their events, results of turns, and calls.

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
"""

from __future__ import annotations

from typing import ClassVar, Literal

from turnlog.messages.base import (
    UNSET,
    Camel,
    Number,
    Open,
    OpenEnum,
    Raw,
    Snake,
    TypeEnum,
    UnknownTagged,
    UnsetType,
    field,
)
from turnlog.messages.blocks import Citation, ContentBlock
from turnlog.messages.control.requests import (
    ContextCategoryKind,
    DecisionReasonType,
    ExtraUsage,
    FastModeDisabledReason,
    FastModeState,
    SessionTotals,
)
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

__all__ = [
    "AssistantMessage",
    "CitationsDelta",
    "CompactionDelta",
    "ContentBlockDelta",
    "ContentBlockStart",
    "ContentBlockStop",
    "ContextAgent",
    "ContextExcess",
    "ContextExcessKind",
    "ContextMcpTool",
    "ContextMemoryFile",
    "ContextPart",
    "ContextSkill",
    "ContextUsage",
    "DeferredToolUse",
    "Delta",
    "DeltaBase",
    "ElicitationCompleteMessage",
    "ErrorEvent",
    "EventBase",
    "InputJsonDelta",
    "InvalidConfigFile",
    "KilledAgents",
    "LimitError",
    "LimitScope",
    "LimitStatus",
    "LimitSubject",
    "MessageChange",
    "MessageDelta",
    "MessageStart",
    "MessageStop",
    "OverageDisabledReason",
    "PartialAssistantMessage",
    "PermissionDenial",
    "PermissionDeniedMessage",
    "Ping",
    "QueuedBehind",
    "RateLimitEvent",
    "RateLimitInfo",
    "RateLimitType",
    "RefusedAgents",
    "RequestedPlaces",
    "ResultMessage",
    "ResultSubtype",
    "SignatureDelta",
    "SpendLimit",
    "StartupFailureReason",
    "StreamEvent",
    "StreamMessage",
    "SubagentRetry",
    "SubagentStats",
    "SystemMessage",
    "TerminalReason",
    "TextDelta",
    "ThinkingDelta",
    "ToolProgressMessage",
    "ToolResultMeta",
    "ToolResultPermission",
    "ToolUseSummaryMessage",
    "TypedMessage",
    "UnknownDelta",
    "UnknownEvent",
    "UnknownMessage",
    "UsageLimit",
    "UsageLimits",
    "UsageReport",
    "UserFields",
    "UserMessage",
    "UserMessageReplay",
    "UserPriority",
]


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

    __slots__ = ()


class UnknownEvent(UnknownTagged):
    """A stream event of an unknown type."""

    __slots__ = ()


class UnknownDelta(UnknownTagged):
    """A change of a content block, of an unknown type."""

    __slots__ = ()


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
