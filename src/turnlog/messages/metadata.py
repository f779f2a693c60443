"""Lines beside the conversation: titles, modes, links, checkpoints, totals, journals, requests to the API.

They are re-appended often, and mostly the last one counts. Few carry an envelope; most name their session.

Newer versions keep the requests that were sent to the API. What many of them share stands once, under a hash:
the system prompt and the tools in an `ApiRequestShape`, each message in an `ApiRequestBlob`. An `ApiRequest`
names its shape and its messages: the first `keep` of the request that is its `base`, then those in `tail`. All
of it repeats what the conversation's own lines say: it is never counted, and never shown as a message.
"""

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Raw, Snake, UnsetType, field
from turnlog.messages.blocks import CacheControl, ContentBlock
from turnlog.messages.envelope import Envelope, PermissionMode
from turnlog.messages.message import Message, OutputConfig

__all__ = [
    "AgentColor", "AgentName", "AgentSetting", "AiTitle", "ApiRequest", "ApiRequestBlob", "ApiRequestParams",
    "ApiRequestShape", "ArtifactAutoreactLedger", "ArtifactCommentMonitor", "ArtifactMonitorState",
    "ArtifactReactState", "AtisLatch", "BridgeSession", "CacheMark", "ContentReplacement", "ContinuedIn",
    "CostBasis", "CostState", "CustomTitle", "DevMods", "FileBackup", "FileHistoryDelta", "FileHistorySnapshot",
    "FileSnapshot", "ForkContextRef", "FrameLink", "HistorySuppression", "JournalFailed", "JournalLaunched",
    "JournalResult", "JournalStarted", "LastPrompt", "Mode", "ModelUsage", "PermissionModeChange", "PrLink",
    "QueueAction", "QueueOperation", "Relocated", "Replacement", "RequestPrompt", "SavedHookContext", "Summary",
    "Tag", "TelemetryLatch", "ThinkingParams", "ToolsUsed", "TurnEnd", "WorktreeSession", "WorktreeState",
]  # fmt: skip


class _Metadata(Envelope, tag_field="type"):
    type: ClassVar[str]


class Summary(_Metadata, tag="summary"):
    """A title of old, tied to the leaf it describes, which may stand in another file."""

    summary: str


class CustomTitle(_Metadata, tag="custom-title"):
    """The title that the user gave."""

    custom_title: str


class AiTitle(_Metadata, tag="ai-title"):
    """The title that a model made."""

    ai_title: str


class AgentName(_Metadata, tag="agent-name"):
    """The display name of a session or agent (`agent_name`)."""


class AgentColor(_Metadata, tag="agent-color"):
    """The accent colour of a session or agent (`agent_color`)."""


class AgentSetting(_Metadata, tag="agent-setting"):
    """The agent that the session was started with."""

    agent_setting: str | None | UnsetType = UNSET


class Tag(_Metadata, tag="tag"):
    """The user's tag; an empty one takes it away."""

    tag: str


class Mode(_Metadata, tag="mode"):
    """The mode of the user interface."""

    mode: str


class PermissionModeChange(_Metadata, tag="permission-mode"):
    """The permission mode from here on."""

    permission_mode: PermissionMode


class LastPrompt(_Metadata, tag="last-prompt"):
    """The last prompt, and the leaf (`leaf_uuid`) from which a resume goes on."""

    last_prompt: str | None | UnsetType = UNSET
    explicit: bool | UnsetType = UNSET


class PrLink(_Metadata, tag="pr-link"):
    """A pull request that the session made."""

    pr_number: int | UnsetType = UNSET
    pr_url: str | UnsetType = UNSET
    pr_repository: str | UnsetType = UNSET


class BridgeSession(_Metadata, tag="bridge-session"):
    """The remote session that this one is linked to."""

    bridge_session_id: str | UnsetType = UNSET
    last_sequence_num: int | UnsetType = UNSET
    owner_account_uuid: str | None | UnsetType = UNSET
    owner_organization_uuid: str | None | UnsetType = UNSET


class WorktreeSession(Camel):
    """The worktree that a session entered."""

    original_cwd: str | UnsetType = UNSET
    pre_enter_original_cwd: str | UnsetType = UNSET
    worktree_path: str | UnsetType = UNSET
    worktree_name: str | UnsetType = UNSET
    worktree_branch: str | None | UnsetType = UNSET
    original_branch: str | None | UnsetType = UNSET
    original_head_commit: str | None | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    entered_existing: bool | UnsetType = UNSET
    hook_based: bool | UnsetType = UNSET


class WorktreeState(_Metadata, tag="worktree-state"):
    """The worktree in use; null when it was left."""

    worktree_session: WorktreeSession | None | UnsetType = UNSET


class Relocated(_Metadata, tag="relocated"):
    """The project moved to another folder."""

    relocated_cwd: str | UnsetType = UNSET


class ContinuedIn(_Metadata, tag="continued-in"):
    """The session goes on in another one."""

    continued_in_session_id: str | UnsetType = UNSET


class ForkContextRef(_Metadata, tag="fork-context-ref"):
    """The first line of a forked sub-agent: its context stands in the parent's file."""

    parent_session_id: str | UnsetType = UNSET
    parent_last_uuid: str | None | UnsetType = UNSET
    context_length: int | UnsetType = UNSET


class CostBasis(OpenEnum):
    """Which prices a cost was reckoned with."""

    LIST = "list"
    MANAGED = "managed"
    UNKNOWN_BASIS = "unknown"


class ModelUsage(Camel):
    """What one model has used so far, on disk and in the SDK's results."""

    input_tokens: int | UnsetType = UNSET
    output_tokens: int | UnsetType = UNSET
    thinking_tokens: int | UnsetType = UNSET
    cache_read_input_tokens: int | UnsetType = UNSET
    cache_creation_input_tokens: int | UnsetType = UNSET
    cache_creation_ephemeral_5m_input_tokens: int | UnsetType = field(
        name="cacheCreationEphemeral5mInputTokens", default=UNSET
    )
    """A part of the line above; this and the next may be less than the whole."""
    cache_creation_ephemeral_1h_input_tokens: int | UnsetType = field(
        name="cacheCreationEphemeral1hInputTokens", default=UNSET
    )
    web_search_requests: int | UnsetType = UNSET
    cost_usd: Number | UnsetType = field(name="costUSD", default=UNSET)
    context_window: int | UnsetType = UNSET
    max_output_tokens: int | UnsetType = UNSET
    canonical_model: str | UnsetType = UNSET
    """The model that prices are looked up for."""
    provider: str | UnsetType = UNSET
    cost_basis: CostBasis | UnsetType = UNSET


class CostState(_Metadata, tag="cost-state"):
    """The program's own running totals; the last one counts."""

    total_cost_usd: Number | UnsetType = field(name="totalCostUSD", default=UNSET)
    total_api_duration: Number | UnsetType = field(name="totalAPIDuration", default=UNSET)
    total_api_duration_without_retries: Number | UnsetType = field(
        name="totalAPIDurationWithoutRetries", default=UNSET
    )
    total_tool_duration: Number | UnsetType = UNSET
    total_lines_added: int | UnsetType = UNSET
    total_lines_removed: int | UnsetType = UNSET
    total_duration: Number | UnsetType = UNSET
    start_time: Number | str | UnsetType = UNSET
    model_usage: dict[str, ModelUsage] | UnsetType = UNSET
    has_unknown_model_cost: bool | UnsetType = UNSET


class FileBackup(Camel):
    """A copy of a file as it was."""

    backup_file_name: str | None | UnsetType = UNSET
    version: int | UnsetType = UNSET
    backup_time: str | UnsetType = UNSET
    real_parent_dir: str | None | UnsetType = UNSET


class FileSnapshot(Camel):
    """The files of a checkpoint."""

    message_id: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    tracked_file_backups: dict[str, FileBackup | str] | UnsetType = UNSET
    pre_checkpoint: bool | UnsetType = UNSET


class FileHistorySnapshot(_Metadata, tag="file-history-snapshot"):
    """A checkpoint of the files at a prompt (`message_id`)."""

    message_id: str | UnsetType = UNSET
    snapshot: FileSnapshot | UnsetType = UNSET
    is_snapshot_update: bool | UnsetType = UNSET


class FileHistoryDelta(_Metadata, tag="file-history-delta"):
    """One more file of a checkpoint."""

    message_id: str | UnsetType = UNSET
    snapshot_message_id: str | UnsetType = UNSET
    tracking_path: str | UnsetType = UNSET
    backup: FileBackup | UnsetType = UNSET


class QueueAction(OpenEnum):
    """What happened to the queue of prompts."""

    ENQUEUE = "enqueue"
    DEQUEUE = "dequeue"
    REMOVE = "remove"
    POP_ALL = "popAll"


class QueueOperation(_Metadata, tag="queue-operation"):
    """A prompt entered or left the queue."""

    operation: QueueAction
    content: str | tuple[ContentBlock, ...] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    command_uuid: str | UnsetType = UNSET
    delivery_id: str | UnsetType = UNSET


class Replacement(Camel):
    """What the model saw instead of a tool's whole output."""

    kind: str | UnsetType = UNSET
    tool_use_id: str | UnsetType = UNSET
    replacement: str | UnsetType = UNSET


class ContentReplacement(_Metadata, tag="content-replacement"):
    """Tool outputs that the model saw shortened; they add up."""

    replacements: tuple[Replacement, ...] | UnsetType = UNSET


class SavedHookContext(_Metadata, tag="saved_hook_context"):
    """Context that a hook put in, of old."""

    content: tuple[str, ...] | str | UnsetType = UNSET
    hook_name: str | UnsetType = UNSET
    hook_event: str | UnsetType = UNSET
    tool_use_id: str | UnsetType = field(name="toolUseID", default=UNSET)


class TurnEnd(_Metadata, tag="turn_end"):
    """A teammate's turn ended, of old."""


class FrameLink(_Metadata, tag="frame-link"):
    """An artifact was published."""

    artifact_count: int | UnsetType = UNSET
    frame_url: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    title: str | UnsetType = UNSET


class ArtifactReactState(Camel):
    """How far reactions to one artifact have come."""

    saved_at: str | Number | UnsetType = UNSET
    stamp_high_water: str | Number | None | UnsetType = UNSET
    ever_baselined: bool | UnsetType = UNSET
    ever_had_threads: bool | UnsetType = UNSET
    turn_timestamps: Raw | UnsetType = UNSET
    threads: Raw | UnsetType = UNSET
    interrupted: Raw | UnsetType = UNSET


class ArtifactAutoreactLedger(_Metadata, tag="artifact-autoreact-ledger"):
    """The state of reactions to comments on artifacts."""

    v: int | UnsetType = UNSET
    account_uuid: str | None | UnsetType = UNSET
    artifacts: dict[str, ArtifactReactState] | UnsetType = UNSET


class ArtifactMonitorState(Camel):
    """How far the comments on one artifact were read."""

    state: Raw | UnsetType = UNSET
    written_at_ms: Number | UnsetType = UNSET
    title: str | None | UnsetType = UNSET


class ArtifactCommentMonitor(_Metadata, tag="artifact-comment-monitor"):
    """The state of watching comments on artifacts."""

    v: int | UnsetType = UNSET
    artifacts: dict[str, ArtifactMonitorState] | UnsetType = UNSET


class AtisLatch(_Metadata, tag="atis-latch"):
    """A switch of the program's own."""

    atis: str | bool | None | UnsetType = UNSET


class ToolsUsed(_Metadata, tag="tools-used"):
    """The tools that the session has called so far."""

    tools: tuple[str, ...] | UnsetType = UNSET


class TelemetryLatch(_Metadata, tag="telemetry-latch"):
    """A switch of the program's own; its fields are not documented yet."""


class HistorySuppression(_Metadata, tag="history-suppression"):
    """A switch of the program's own; its fields are not documented yet."""


class DevMods(_Metadata, tag="dev-mods"):
    """A switch of the program's own; its fields are not documented yet."""


class _Journal(_Metadata):
    key: str | UnsetType = UNSET
    label: str | None | UnsetType = UNSET
    phase: str | None | UnsetType = UNSET


class JournalLaunched(_Journal, tag="launched"):
    """A workflow's journal: an agent was asked for."""


class JournalStarted(_Journal, tag="started"):
    """A workflow's journal: an agent started."""


class JournalResult(_Journal, tag="result"):
    """A workflow's journal: an agent answered. Spec 002 ends a session with such a line, too."""

    result: Raw | UnsetType = UNSET


class JournalFailed(_Journal, tag="failed"):
    """A workflow's journal: an agent failed."""

    error: Raw | UnsetType = UNSET


class ThinkingParams(Snake):
    """How much the model was to think, and what of it to show."""

    type: str | UnsetType = UNSET
    budget_tokens: int | UnsetType = UNSET
    display: str | UnsetType = UNSET


class ApiRequestParams(Snake):
    """A request without its prompt."""

    model: str | UnsetType = UNSET
    betas: tuple[str, ...] | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    thinking: ThinkingParams | UnsetType = UNSET
    context_management: Raw | UnsetType = UNSET
    output_config: OutputConfig | UnsetType = UNSET


class CacheMark(Camel):
    """A place in a request up to which it was to be cached."""

    path: tuple[str | int, ...] | UnsetType = UNSET
    value: CacheControl | UnsetType = UNSET


class ApiRequest(_Metadata, tag="api-request"):
    """One request; the answer's lines name it in `requestRef`."""

    id: str | UnsetType = UNSET
    query_source: str | UnsetType = UNSET
    """What asked: `sdk`, `agent:builtin:general-purpose` and the like."""
    shape_hash: str | UnsetType = UNSET
    params: ApiRequestParams | UnsetType = UNSET
    base: str | UnsetType = UNSET
    """The request whose first messages this one repeats."""
    keep: int | UnsetType = UNSET
    tail: tuple[str, ...] | UnsetType = UNSET
    """The hashes of the messages behind those."""
    cache_control: tuple[CacheMark, ...] | UnsetType = UNSET
    request_digest: str | UnsetType = UNSET


class RequestPrompt(Snake):
    """What requests have in common."""

    system: str | tuple[ContentBlock, ...] | UnsetType = UNSET
    tools: tuple[Raw, ...] | UnsetType = UNSET


class ApiRequestShape(_Metadata, tag="api-request-shape"):
    """A system prompt and tools, by their hash."""

    shape_hash: str | UnsetType = UNSET
    shape: RequestPrompt | UnsetType = UNSET


class ApiRequestBlob(_Metadata, tag="api-request-blob"):
    """A message of a request, by its hash."""

    hash: str | UnsetType = UNSET
    message: Message | UnsetType = UNSET
