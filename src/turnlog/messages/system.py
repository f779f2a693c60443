"""System lines: what the program itself has to say, by subtype."""

from __future__ import annotations

from typing import ClassVar, Literal

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Raw, UnsetType, field
from turnlog.messages.envelope import Envelope, PermissionMode

__all__ = [
    "AgentsKilled", "ApiErrorConnection", "ApiErrorDetail", "ApiErrorNoResponse", "ApiErrorNotice",
    "ArtifactReadVersion", "AwaySummary", "BridgeStatus", "CommandRun", "CompactBoundary", "CompactMetadata",
    "CompactTrigger", "HookInfo", "Informational", "Level", "LocalCommand", "MicrocompactBoundary",
    "MicrocompactMetadata", "ModelConsentFallback", "ModelFallback", "ModelRefusalFallback",
    "ModelRefusalNoFallback", "PermissionRetry", "PostToolHookFeedback", "PreservedMessages",
    "PreservedSegment", "ScheduledTaskFire", "StopHookSummary", "SystemFields", "SystemNotice", "SystemSubtype",
    "TurnDuration",
]  # fmt: skip


class Level(OpenEnum):
    """How loudly a system line speaks."""

    INFO = "info"
    WARN = "warn"
    WARNING = "warning"
    ERROR = "error"
    SUGGESTION = "suggestion"
    NOTICE = "notice"


class HookInfo(Camel):
    """One hook that ran."""

    command: str | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET
    prompt_text: str | UnsetType = UNSET


class SystemFields(Envelope):
    """The fields that any system line may carry, besides the envelope."""

    content: str | None | UnsetType = UNSET
    level: Level | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)
    permission_mode: PermissionMode | UnsetType = UNSET
    source_tool_use_id: str | UnsetType = field(name="sourceToolUseID", default=UNSET)
    prevent_continuation: bool | UnsetType = UNSET


class SystemNotice(SystemFields, tag_field="type", tag="system"):
    """A system line without a subtype."""

    type: ClassVar[str]
    duration_ms: Number | UnsetType = UNSET
    hook_count: int | UnsetType = UNSET
    hook_infos: tuple[HookInfo, ...] | UnsetType = UNSET
    hook_errors: tuple[str, ...] | UnsetType = UNSET
    prevented_continuation: bool | UnsetType = UNSET
    stop_reason: str | None | UnsetType = UNSET
    has_output: bool | UnsetType = UNSET


class _Subtyped(SystemFields, tag_field="subtype"):
    subtype: ClassVar[str]
    type: Literal["system"] = "system"


class TurnDuration(_Subtyped, tag="turn_duration"):
    """How long a turn took."""

    duration_ms: Number | UnsetType = UNSET
    message_count: int | UnsetType = UNSET
    pending_background_agent_count: int | UnsetType = UNSET
    pending_workflow_count: int | UnsetType = UNSET


class StopHookSummary(_Subtyped, tag="stop_hook_summary"):
    """What the hooks at the end of a turn did."""

    hook_count: int | UnsetType = UNSET
    hook_infos: tuple[HookInfo, ...] | UnsetType = UNSET
    hook_errors: tuple[str, ...] | UnsetType = UNSET
    hook_additional_context: tuple[str, ...] | UnsetType = UNSET
    prevented_continuation: bool | UnsetType = UNSET
    stop_reason: str | None | UnsetType = UNSET
    has_output: bool | UnsetType = UNSET


class CompactTrigger(OpenEnum):
    """Who asked for a compaction."""

    MANUAL = "manual"
    AUTO = "auto"


class ArtifactReadVersion(Camel):
    """A version of an artifact that was read before a compaction."""

    slug: str | UnsetType = UNSET
    ver: Number | str | UnsetType = UNSET


class PreservedSegment(Camel):
    """The lines that a compaction kept: the older form, by both ends."""

    head_uuid: str | None | UnsetType = UNSET
    anchor_uuid: str | None | UnsetType = UNSET
    tail_uuid: str | None | UnsetType = UNSET


class PreservedMessages(Camel):
    """The lines that a compaction kept, one by one."""

    anchor_uuid: str | None | UnsetType = UNSET
    uuids: tuple[str, ...] | UnsetType = UNSET
    all_uuids: tuple[str, ...] | UnsetType = UNSET


class CompactMetadata(Camel):
    """What a compaction did."""

    trigger: CompactTrigger | UnsetType = UNSET
    pre_tokens: int | UnsetType = UNSET
    pre_compact_input_tokens: int | UnsetType = UNSET
    post_tokens: int | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET
    cumulative_dropped_tokens: int | UnsetType = UNSET
    pre_compact_discovered_tools: tuple[str, ...] | UnsetType = UNSET
    pre_compact_artifact_read_versions: tuple[ArtifactReadVersion, ...] | UnsetType = UNSET
    preserved_segment: PreservedSegment | None | UnsetType = UNSET
    preserved_messages: PreservedMessages | None | UnsetType = UNSET
    messages_summarized: int | UnsetType = UNSET
    user_context: str | UnsetType = UNSET
    running_turn_prompt: Raw | UnsetType = UNSET


class CompactBoundary(_Subtyped, tag="compact_boundary"):
    """The place where the conversation so far was replaced by a summary."""

    compact_metadata: CompactMetadata | UnsetType = UNSET


class MicrocompactMetadata(Camel):
    """What a microcompaction did."""

    trigger: CompactTrigger | UnsetType = UNSET
    pre_tokens: int | UnsetType = UNSET
    tokens_saved: int | UnsetType = UNSET
    compacted_tool_ids: tuple[str, ...] | UnsetType = UNSET
    cleared_attachment_uuids: tuple[str, ...] | UnsetType = field(name="clearedAttachmentUUIDs", default=UNSET)


class MicrocompactBoundary(_Subtyped, tag="microcompact_boundary"):
    """The place where old tool results left the context."""

    microcompact_metadata: MicrocompactMetadata | UnsetType = UNSET


class ApiErrorConnection(Camel):
    """What went wrong with the connection."""

    code: str | None | UnsetType = UNSET
    message: str | None | UnsetType = UNSET
    is_ssl_error: bool | UnsetType = field(name="isSSLError", default=UNSET)


class ApiErrorNoResponse(Camel):
    """How long an answer was waited for in vain."""

    waited_ms: Number | UnsetType = UNSET
    retry_wait_ms: Number | UnsetType = UNSET


class ApiErrorDetail(Camel):
    """An error of the API: the client's form of old, and today's."""

    status: Number | None | UnsetType = UNSET
    headers: dict[str, Raw] | None | UnsetType = UNSET
    request_id_old: str | None | UnsetType = field(name="requestID", default=UNSET)
    error: Raw | UnsetType = UNSET
    type: str | None | UnsetType = UNSET
    code: str | None | UnsetType = UNSET
    path: str | None | UnsetType = UNSET
    errno: Number | str | None | UnsetType = UNSET
    cause: ApiErrorDetail | None | UnsetType = UNSET
    name: str | UnsetType = UNSET
    message: str | None | UnsetType = UNSET
    formatted: str | None | UnsetType = UNSET
    connection: ApiErrorConnection | None | UnsetType = UNSET
    is_network_down: bool | None | UnsetType = UNSET
    rate_limits: Raw | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    no_response: ApiErrorNoResponse | None | UnsetType = UNSET


class ApiErrorNotice(_Subtyped, tag="api_error"):
    """A request that failed and is tried again."""

    error: ApiErrorDetail | str | None | UnsetType = UNSET
    cause: ApiErrorDetail | str | None | UnsetType = UNSET
    retry_in_ms: Number | UnsetType = UNSET
    retry_attempt: int | UnsetType = UNSET
    max_retries: int | UnsetType = UNSET
    source: str | UnsetType = UNSET


class CommandRun(Camel):
    """The slash command that ran."""

    command: str | UnsetType = UNSET
    args: str | UnsetType = UNSET


class LocalCommand(_Subtyped, tag="local_command"):
    """A slash command that the program itself carried out."""

    command_run: CommandRun | UnsetType = UNSET


class AwaySummary(_Subtyped, tag="away_summary"):
    """What happened while the user was away."""


class Informational(_Subtyped, tag="informational"):
    """A remark."""


class BridgeStatus(_Subtyped, tag="bridge_status"):
    """The state of the link to a remote session."""

    url: str | UnsetType = UNSET


class ScheduledTaskFire(_Subtyped, tag="scheduled_task_fire"):
    """A scheduled prompt came due."""

    task_id: str | UnsetType = UNSET
    cron: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    task_kind: str | UnsetType = UNSET
    cron_kind: str | UnsetType = UNSET
    no_op_streak: int | UnsetType = UNSET
    streak_started_at: str | Number | None | UnsetType = UNSET
    folded_uuids: tuple[str, ...] | UnsetType = UNSET


class AgentsKilled(_Subtyped, tag="agents_killed"):
    """All running agents were ended."""


class _ModelChange(_Subtyped):
    original_model: str | UnsetType = UNSET
    fallback_model: str | None | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    trigger: str | UnsetType = UNSET


class _Refusal(_ModelChange):
    api_refusal_category: str | None | UnsetType = UNSET
    api_refusal_explanation: str | None | UnsetType = UNSET
    refused_user_message_uuid: str | None | UnsetType = UNSET


class ModelRefusalFallback(_Refusal, tag="model_refusal_fallback"):
    """A model refused, and another one took over."""

    direction: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    retracted_message_uuids: tuple[str, ...] | UnsetType = UNSET


class ModelRefusalNoFallback(_Refusal, tag="model_refusal_no_fallback"):
    """A model refused, and none took over."""


class ModelConsentFallback(_ModelChange, tag="model_consent_fallback"):
    """The user chose another model when asked."""

    choice: str | UnsetType = UNSET
    persisted_as_default: bool | UnsetType = UNSET


class ModelFallback(_ModelChange, tag="model_fallback"):
    """Another model took over."""


class PermissionRetry(_Subtyped, tag="permission_retry"):
    """Commands that were allowed after all."""

    commands: tuple[str, ...] | UnsetType = UNSET


class PostToolHookFeedback(_Subtyped, tag="post_tool_hook_feedback"):
    """What a hook said after a tool had run."""

    tool_name: str | UnsetType = UNSET


SystemSubtype = (
    TurnDuration
    | StopHookSummary
    | CompactBoundary
    | MicrocompactBoundary
    | ApiErrorNotice
    | LocalCommand
    | AwaySummary
    | Informational
    | BridgeStatus
    | ScheduledTaskFire
    | AgentsKilled
    | ModelRefusalFallback
    | ModelRefusalNoFallback
    | ModelConsentFallback
    | ModelFallback
    | PermissionRetry
    | PostToolHookFeedback
)
