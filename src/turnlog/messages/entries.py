"""The entries of today's session files.

An entry is a decoded line. The conversation itself is `UserEntry`, `AssistantEntry` and, around them,
`AttachmentEntry`, `ProgressEntry` and the system lines; `metadata` holds what stands beside it. Older dialects
are brought to these same types (`legacy`). Each entry has the envelope's fields, an unknown one too.

Progress of a running tool is told line by line by files of early 2026; later versions say the same with
attachments. An agent's progress holds copies of the sub-agent's messages: they are for looking at, and their
usage is not to be counted, since the sub-agent's own file has it too.

Today a compaction is a `CompactBoundary` and, behind it, a `UserEntry` with the summary. Spec 000 has a line
for each of four operations, spec 004 one for what came before and one for the recap. Both become
`CompactionEntry`.
"""

from typing import ClassVar

from msgspec import UNSET, Raw, UnsetType, field

from turnlog.messages import metadata
from turnlog.messages.attachments import Attachment
from turnlog.messages.base import Camel, Number, Open, OpenEnum, Snake, TypeEnum, UnknownTagged
from turnlog.messages.envelope import Envelope, PermissionMode
from turnlog.messages.message import Message, MessageOrigin, Usage
from turnlog.messages.metadata import QueueOperation
from turnlog.messages.system import CompactMetadata, SystemNotice, SystemSubtype
from turnlog.messages.tool_io.planning import TodoItem

__all__ = [
    "AgentProgress", "AssistantEntry", "AttachmentEntry", "BashProgress", "ClassifierContext",
    "CompactionEntry", "CompactionPhase", "CompactionStatistics", "ConversationEntry", "Entry", "ErrorObject",
    "GitState", "HookProgress", "McpMeta", "McpProgress", "MetadataEntry", "NestedMessage", "PermissionOutcome",
    "Progress", "ProgressBase", "ProgressEntry", "PromptSource", "QueryUpdate", "QuotaLimits", "Rendered",
    "SearchResultsReceived", "ServerClassifierContext", "SummarizeMetadata", "SystemEntry", "ThinkingMetadata",
    "ThinkingTrigger", "TurnPosition", "UnknownEntry", "UnknownProgress", "UserEntry", "WaitingForTask",
    "WireContext",
]  # fmt: skip


class CompactionPhase(TypeEnum):
    """What happens to the conversation."""

    COMPACTING = "conversation_compacting"
    COMPACTED = "conversation_compacted"
    RESTORING = "conversation_restoring"
    RESTORED = "conversation_restored"


class CompactionStatistics(Camel):
    """What a compaction kept."""

    preserved_messages: int | UnsetType = UNSET
    total_messages: int | UnsetType = UNSET
    compression_ratio: Number | UnsetType = UNSET
    trigger: str | UnsetType = UNSET
    pre_tokens: int | UnsetType = UNSET
    post_tokens: int | UnsetType = UNSET


class CompactionEntry(Envelope):
    """One step of a compaction."""

    phase: CompactionPhase
    statistics: CompactionStatistics | None | UnsetType = UNSET
    prelude: Message | UnsetType = UNSET
    """What came before and was kept (spec 004)."""
    recap: Message | UnsetType = UNSET
    """The summary that stands for the rest (spec 004)."""


class ProgressBase(Camel, tag_field="type"):
    """A piece of progress, told apart by its type."""

    type: ClassVar[str]


class UnknownProgress(UnknownTagged):
    """Progress of an unknown type."""


class HookProgress(ProgressBase, tag="hook_progress"):
    """A hook that is running."""

    hook_event: str | UnsetType = UNSET
    hook_name: str | UnsetType = UNSET
    command: str | None | UnsetType = UNSET


class BashProgress(ProgressBase, tag="bash_progress"):
    """A command that is running, and what it has printed so far."""

    output: str | UnsetType = UNSET
    full_output: str | UnsetType = UNSET
    elapsed_time_seconds: Number | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET
    total_bytes: int | None | UnsetType = UNSET
    task_id: str | None | UnsetType = UNSET
    timeout_ms: Number | None | UnsetType = UNSET


class NestedMessage(Camel):
    """A copy of a sub-agent's message, a small entry of its own."""

    type: str | UnsetType = UNSET
    """`user` or `assistant`."""
    message: Message | UnsetType = UNSET
    uuid: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    tool_use_result: Raw | UnsetType = UNSET
    source_tool_assistant_uuid: str | None | UnsetType = field(name="sourceToolAssistantUUID", default=UNSET)
    is_meta: bool | UnsetType = UNSET
    is_api_error_message: bool | UnsetType = UNSET
    error: str | None | UnsetType = UNSET


class AgentProgress(ProgressBase, tag="agent_progress"):
    """A sub-agent that is at work, and its latest message."""

    agent_id: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    message: NestedMessage | None | UnsetType = UNSET
    normalized_messages: tuple[NestedMessage, ...] | UnsetType = UNSET


class McpProgress(ProgressBase, tag="mcp_progress"):
    """A call of an MCP server's tool."""

    status: str | UnsetType = UNSET
    """`started`, `completed` or `failed`."""
    server_name: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    elapsed_time_ms: Number | None | UnsetType = UNSET


class WaitingForTask(ProgressBase, tag="waiting_for_task"):
    """A tool that waits for a background task."""

    task_description: str | None | UnsetType = UNSET
    task_type: str | None | UnsetType = UNSET
    """`local_bash` or `local_agent`."""


class QueryUpdate(ProgressBase, tag="query_update"):
    """A web search that was sent."""

    query: str | UnsetType = UNSET


class SearchResultsReceived(ProgressBase, tag="search_results_received"):
    """A web search that was answered."""

    result_count: int | UnsetType = UNSET
    query: str | UnsetType = UNSET


Progress = Open[
    HookProgress
    | BashProgress
    | AgentProgress
    | McpProgress
    | WaitingForTask
    | QueryUpdate
    | SearchResultsReceived,
    UnknownProgress,
]


class PromptSource(OpenEnum):
    """How a prompt came in."""

    TYPED = "typed"
    SYSTEM = "system"
    SDK = "sdk"
    QUEUED = "queued"
    SUGGESTION_ACCEPTED = "suggestion_accepted"


class TurnPosition(Camel):
    """Where in the session a prompt stands."""

    prompt_index: int | UnsetType = UNSET
    turn_index: int | UnsetType = UNSET


class SummarizeMetadata(Camel):
    """What a partial compaction took in."""

    messages_summarized: int | UnsetType = UNSET
    user_context: str | UnsetType = UNSET
    direction: str | UnsetType = UNSET


class ThinkingTrigger(Camel):
    """A word of the prompt that asked for more thinking."""

    start: int | UnsetType = UNSET
    end: int | UnsetType = UNSET
    text: str | UnsetType = UNSET


class ThinkingMetadata(Camel):
    """How much thinking a prompt asked for, of old."""

    level: str | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    triggers: tuple[str | ThinkingTrigger, ...] | UnsetType = UNSET
    max_thinking_tokens: int | UnsetType = UNSET


class McpMeta(Camel):
    """What an MCP server said beside its result."""

    meta: Raw | UnsetType = field(name="_meta", default=UNSET)
    structured_content: Raw | UnsetType = UNSET


class GitState(Snake):
    """The repository as the permission classifier saw it."""

    cwd: str | None | UnsetType = UNSET
    root: str | None | UnsetType = UNSET
    branch: str | None | UnsetType = UNSET
    default_branch: str | None | UnsetType = UNSET
    status: str | None | UnsetType = UNSET
    visibility: str | None | UnsetType = UNSET
    error: str | None | UnsetType = UNSET


class ClassifierContext(Snake):
    """The surroundings as the permission classifier saw them."""

    git_state: GitState | None | UnsetType = UNSET
    live_cwd: str | None | UnsetType = UNSET
    platform: str | None | UnsetType = UNSET


class ServerClassifierContext(Snake):
    """What the permission classifier was given."""

    request: Raw | UnsetType = UNSET
    context: ClassifierContext | UnsetType = UNSET


class PermissionOutcome(Camel):
    """How it was decided whether a call may run."""

    decision: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    reason_type: str | UnsetType = UNSET
    reason_code: str | UnsetType = UNSET
    rule_source: str | UnsetType = UNSET


class UserEntry(Envelope, tag_field="type", tag="user"):
    """A prompt, a tool's result, or text that the program put in the user's mouth."""

    type: ClassVar[str]
    message: Message
    tool_use_result: Raw | UnsetType = UNSET
    """The result as the program shows it; `tool_io.view_result` gives it a type."""
    source_tool_assistant_uuid: str | None | UnsetType = field(name="sourceToolAssistantUUID", default=UNSET)
    source_tool_use_id: str | None | UnsetType = field(name="sourceToolUseID", default=UNSET)
    prompt_source: PromptSource | UnsetType = UNSET
    turn_origin: str | UnsetType = UNSET
    turn_position: TurnPosition | UnsetType = UNSET
    turn_companion: bool | UnsetType = UNSET
    queue_priority: str | UnsetType = UNSET
    queue_skip_attachments: bool | UnsetType = UNSET
    queue_transcript_only: bool | UnsetType = UNSET
    scheduled_task_id: str | UnsetType = UNSET
    scheduled_fire_id: str | UnsetType = UNSET
    origin: MessageOrigin | str | None | UnsetType = UNSET
    permission_mode: PermissionMode | None | UnsetType = UNSET
    is_compact_summary: bool | UnsetType = UNSET
    is_visible_in_transcript_only: bool | UnsetType = UNSET
    summarize_metadata: SummarizeMetadata | UnsetType = UNSET
    compact_metadata: CompactMetadata | UnsetType = UNSET
    thinking_metadata: ThinkingMetadata | UnsetType = UNSET
    todos: tuple[TodoItem, ...] | UnsetType = UNSET
    image_paste_ids: tuple[int | str, ...] | UnsetType = UNSET
    plan_content: str | UnsetType = UNSET
    mcp_meta: McpMeta | UnsetType = UNSET
    tool_denial_kind: str | UnsetType = UNSET
    user_feedback: str | UnsetType = UNSET
    interrupted_message_id: str | UnsetType = UNSET
    interrupted_by_shutdown: bool | UnsetType = UNSET
    tool_ends_turn: bool | UnsetType = UNSET
    classifier_meta_lines: str | UnsetType = UNSET
    server_classifier_context: ServerClassifierContext | UnsetType = UNSET
    permission_decision: PermissionOutcome | UnsetType = UNSET
    sandboxed: bool | UnsetType = UNSET
    repeats_compact_summary: bool | UnsetType = UNSET
    summarized_turn_prompt_uuids: tuple[str, ...] | UnsetType = UNSET


class WireContext(Camel):
    """Where a call was made."""

    cwd: str | None | UnsetType = UNSET


class QuotaLimits(Camel):
    """The quota that a request ran into."""

    status: str | UnsetType = UNSET
    resets_at: Number | str | None | UnsetType = UNSET
    rate_limit_type: str | None | UnsetType = UNSET
    overage_status: str | None | UnsetType = UNSET
    overage_resets_at: Number | str | None | UnsetType = UNSET
    overage_disabled_reason: str | None | UnsetType = UNSET
    is_using_overage: bool | None | UnsetType = UNSET
    unified_rate_limit_fallback_available: bool | None | UnsetType = UNSET
    utilization: Number | None | UnsetType = UNSET


class ErrorObject(Camel):
    """An error that is more than a word."""

    type: str | UnsetType = UNSET
    message: str | None | UnsetType = UNSET
    status: Number | None | UnsetType = UNSET


class AssistantEntry(Envelope, tag_field="type", tag="assistant"):
    """An answer of the model, or a part of one: lines that share `message.id` are one message."""

    type: ClassVar[str]
    message: Message
    tool_input_stream_ms: Number | UnsetType = UNSET
    api_block_index: int | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    request_ref: str | UnsetType = UNSET
    """The `ApiRequest` that this answers."""
    requested_model: str | UnsetType = UNSET
    prompt_cache_requested: str | UnsetType = UNSET
    made_by: str | UnsetType = UNSET
    """`model`, or `other` for what the program said in its stead."""
    wire_tool_inputs: dict[str, Raw] | UnsetType = UNSET
    wire_ingest_context: dict[str, WireContext] | UnsetType = UNSET
    effort: str | None | UnsetType = UNSET
    per_turn_effort: str | None | UnsetType = UNSET
    thinking_duration_ms: Number | UnsetType = UNSET
    thinking_display: str | UnsetType = UNSET
    advisor_model: str | None | UnsetType = UNSET
    server_classifier_request: str | UnsetType = UNSET
    attribution_skill: str | None | UnsetType = UNSET
    attribution_plugin: str | None | UnsetType = UNSET
    attribution_mcp_server: str | None | UnsetType = UNSET
    attribution_mcp_tool: str | None | UnsetType = UNSET
    is_api_error_message: bool | UnsetType = UNSET
    error: str | ErrorObject | None | UnsetType = UNSET
    error_details: str | ErrorObject | None | UnsetType = UNSET
    api_error_status: Number | str | None | UnsetType = UNSET
    api_error: str | None | UnsetType = UNSET
    api_error_type: str | None | UnsetType = UNSET
    failed_response_had_no_tool_call: bool | UnsetType = UNSET
    quota_limits: QuotaLimits | UnsetType = UNSET
    is_aborted_mid_stream: bool | UnsetType = UNSET
    truncated_after_output: bool | UnsetType = UNSET
    supersedes_uuids: tuple[str, ...] | UnsetType = UNSET
    heals_distinct_carrier: bool | UnsetType = UNSET
    cost_usd: Number | None | UnsetType = field(name="costUSD", default=UNSET)
    """The program's own figure, of old."""
    duration_ms: Number | None | UnsetType = UNSET
    usage: Usage | None | UnsetType = UNSET
    """A second copy, of old."""
    subtype: str | UnsetType = UNSET
    """What the line is for: response, tool_use, thinking, command or error (spec 000)."""


class Rendered(Camel):
    """What the model received of an attachment."""

    content: str | UnsetType = UNSET


class AttachmentEntry(Envelope, tag_field="type", tag="attachment"):
    """Context that the program put in: files, reminders, what hooks said, queued prompts."""

    type: ClassVar[str]
    attachment: Attachment
    rendered: tuple[Rendered, ...] | UnsetType = UNSET
    rendered_in_human_turn: tuple[Rendered, ...] | UnsetType = UNSET
    rendered_role: str | UnsetType = UNSET
    rendered_beside_tool_result: bool | UnsetType = UNSET


class ProgressEntry(Envelope, tag_field="type", tag="progress"):
    """How far a call has come. Messages nested in it are copies: never count them."""

    type: ClassVar[str]
    data: Progress
    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)
    parent_tool_use_id: str | None | UnsetType = field(name="parentToolUseID", default=UNSET)


class UnknownEntry(Envelope):
    """A line of an unknown type, or one that is broken. What its envelope says is read all the same."""

    raw: bytes
    type: str | None = None
    """What the line calls itself: its type, or the name of its hook event."""
    subtype: str | None = None


ConversationEntry = UserEntry | AssistantEntry | AttachmentEntry | ProgressEntry | CompactionEntry
SystemEntry = SystemNotice | SystemSubtype
MetadataEntry = (
    metadata.Summary
    | metadata.CustomTitle
    | metadata.AiTitle
    | metadata.AgentName
    | metadata.AgentColor
    | metadata.AgentSetting
    | metadata.Tag
    | metadata.Mode
    | metadata.PermissionModeChange
    | metadata.LastPrompt
    | metadata.PrLink
    | metadata.BridgeSession
    | metadata.WorktreeState
    | metadata.Relocated
    | metadata.ContinuedIn
    | metadata.ForkContextRef
    | metadata.CostState
    | metadata.FileHistorySnapshot
    | metadata.FileHistoryDelta
    | QueueOperation
    | metadata.ContentReplacement
    | metadata.SavedHookContext
    | metadata.TurnEnd
    | metadata.FrameLink
    | metadata.ArtifactAutoreactLedger
    | metadata.ArtifactCommentMonitor
    | metadata.AtisLatch
    | metadata.ApiRequest
    | metadata.ApiRequestShape
    | metadata.ApiRequestBlob
    | metadata.ToolsUsed
    | metadata.TelemetryLatch
    | metadata.HistorySuppression
    | metadata.DevMods
    | metadata.JournalLaunched
    | metadata.JournalStarted
    | metadata.JournalResult
    | metadata.JournalFailed
)
Entry = ConversationEntry | SystemEntry | MetadataEntry | UnknownEntry
