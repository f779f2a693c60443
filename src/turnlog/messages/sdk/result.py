"""The end of a turn: what came of it, how long it took, what it cost.

One class serves success and failure, because they share most of their fields and a failure may be reported as
either: `subtype: success` with `is_error: true` is an answer that reports an API error, and some `error_…` say
`is_error: false`.
`usage` is this turn's; `model_usage` and `total_cost_usd` are running totals, of which the last counts.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, OpenEnum, Raw, Snake, TypeEnum, UnsetType, field
from turnlog.messages.control.requests import FastModeDisabledReason, FastModeState
from turnlog.messages.message import StopReason
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.origin import MessageOrigin
from turnlog.messages.sdk.base import TypedMessage
from turnlog.messages.usage import Usage


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
