"""What the program says about itself in the SDK's stream, mostly as `type: system` with a `subtype`.

The header of a session comes again at the start of each turn. What happens on disk, too, is spelled there in
camelCase (`system.CompactBoundary`) and here as the stream does. A `hook_id` ties the messages of one hook's
run together. A background task keeps its `task_id`; each time it is taken up again it gets a new `run_id`, and
these sort by start.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Raw, Snake, UnsetType, field
from turnlog.messages.control.requests import FastModeDisabledReason, FastModeState, LoadedPlugin, SlashCommand
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.hook_events import AssistantMessageError
from turnlog.messages.options import EffortLevel, SessionKey
from turnlog.messages.sdk.messages import (
    ElicitationCompleteMessage,
    PermissionDeniedMessage,
    SystemMessage,
    TypedMessage,
)
from turnlog.messages.system import CompactTrigger, Level

__all__ = [
    "ActiveGoal",
    "ActiveGoalMessage",
    "ApiKeySource",
    "ApiRetryMessage",
    "AuthStatusMessage",
    "BackgroundTasksChangedMessage",
    "CommandLifecycleMessage",
    "CommandState",
    "CommandsChangedMessage",
    "CompactBoundaryMessage",
    "CompactDetails",
    "CompactResult",
    "ControlRequestProgressMessage",
    "ControlRequestStatus",
    "ConversationResetMessage",
    "FailedFile",
    "FilesPersistedEvent",
    "HookOutcome",
    "HookProgressMessage",
    "HookResponseMessage",
    "HookStartedMessage",
    "InformationalMessage",
    "KeptMessages",
    "KeptSegment",
    "LiveTask",
    "LocalCommandOutputMessage",
    "LostRecord",
    "ManagedLock",
    "McpServerState",
    "MemoryPaths",
    "MemoryRecallMessage",
    "MemoryRecallMode",
    "MemoryScope",
    "MirrorErrorMessage",
    "ModelRefusalFallbackMessage",
    "ModelRefusalNoFallbackMessage",
    "NoResponse",
    "NotificationMessage",
    "NotificationPriority",
    "PersistedFile",
    "PluginInstallMessage",
    "PluginInstallStatus",
    "PluginLoadError",
    "PostTurnSummaryMessage",
    "PromptSuggestionMessage",
    "RecalledMemory",
    "RefusalDirection",
    "RefusalScope",
    "RefusalTrigger",
    "ResetTrigger",
    "SessionState",
    "SessionStateChangedMessage",
    "SessionWritesLostMessage",
    "StartupTiming",
    "Status",
    "StatusMessage",
    "SystemInitMessage",
    "SystemSubtypeMessage",
    "TaskEnd",
    "TaskEndReason",
    "TaskLink",
    "TaskNotificationMessage",
    "TaskPatch",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskState",
    "TaskSummaryMessage",
    "TaskUpdatedMessage",
    "TaskUsage",
    "ThinkingTokensMessage",
    "TranscriptMirrorMessage",
    "ViewMode",
    "WorkerShuttingDownMessage",
    "WriteErrorCode",
]


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
