"""How the model is to work just now: modes, effort and reminders, and thinking that was dropped."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, UnsetType


class _PlanFile(AttachmentBase):
    """Where the plan is, and whether it has been written."""

    plan_file_path: str | None | UnsetType = UNSET
    plan_exists: bool | UnsetType = UNSET


class PlanMode(_PlanFile, tag="plan_mode"):
    """Plan mode is on."""

    reminder_type: str | None | UnsetType = UNSET
    """`full` or `sparse`."""
    is_sub_agent: bool | UnsetType = UNSET
    custom_instructions: str | None | UnsetType = UNSET


class PlanModeExit(_PlanFile, tag="plan_mode_exit"):
    """Plan mode is over."""


class PlanModeReentry(_PlanFile, tag="plan_mode_reentry"):
    """Plan mode is on again."""


class _AutoSteering(AttachmentBase):
    """How the model is steered while nobody is asked."""

    reminder_type: str | None | UnsetType = UNSET
    auto_mode_consent_flow: bool | UnsetType = UNSET
    bash_first: bool | UnsetType = UNSET
    bash_first_steer: str | None | UnsetType = UNSET
    steer_only: bool | UnsetType = UNSET
    bypass: bool | UnsetType = UNSET


class AutoMode(_AutoSteering, tag="auto_mode"):
    """Auto mode is on."""


class AutoModeExit(_AutoSteering, tag="auto_mode_exit"):
    """Auto mode is over."""


class UltrathinkEffort(AttachmentBase, tag="ultrathink_effort"):
    """More effort for one prompt, asked for by its keyword."""

    level: str | UnsetType = UNSET


class UltraEffortEnter(AttachmentBase, tag="ultra_effort_enter"):
    """The highest effort is on."""


class UltraEffortExit(AttachmentBase, tag="ultra_effort_exit"):
    """The highest effort is over."""


class _TextReminder(AttachmentBase):
    """A reminder in so many words."""

    text: str | UnsetType = UNSET


class TotalTokensReminder(_TextReminder, tag="total_tokens_reminder"):
    """A reminder of how many tokens are left."""


class SilentTurnReminder(_TextReminder, tag="silent_turn_reminder"):
    """A reminder to tell the person something."""


class BatchingReminderSent(_TextReminder, tag="batching_reminder_sent"):
    """A reminder to make several calls at once."""

    model: str | None | UnsetType = UNSET
    clear_at: str | None | UnsetType = UNSET


class CriticalSystemReminder(AttachmentBase, tag="critical_system_reminder"):
    """A reminder that the agent's definition asks for."""

    content: str | UnsetType = UNSET


class ThinkingStripped(AttachmentBase, tag="thinking_stripped"):
    """A mark that thinking was left out of a request."""

    scope: str | None | UnsetType = UNSET


class ThinkingPosition(Camel):
    """A block's place in a request."""

    message_index: int | UnsetType = UNSET
    block_index: int | UnsetType = UNSET


class DroppedThinking(Camel):
    """Which thinking is missing, and why."""

    block_count: int | UnsetType = UNSET
    turn_count: int | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET
    first: ThinkingPosition | None | UnsetType = UNSET
    last: ThinkingPosition | None | UnsetType = UNSET
    reason_counts: dict[str, int] | None | UnsetType = UNSET


class ClientChange(Camel):
    """What the program itself had changed since the last request."""

    kinds: str | None | UnsetType = UNSET
    first_changed_message_index: int | None | UnsetType = UNSET
    """-1 where nothing changed."""
    baseline: str | None | UnsetType = UNSET
    call_number: int | None | UnsetType = UNSET


class ThinkingDrop(AttachmentBase, tag="thinking_drop"):
    """A report that the API ignored thinking of earlier turns."""

    request_id: str | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    query_source: str | None | UnsetType = UNSET
    thinking_blocks_sent: int | UnsetType = UNSET
    thinking_turns_sent: int | UnsetType = UNSET
    newly_dropped: DroppedThinking | None | UnsetType = UNSET
    block_hashes: tuple[str, ...] | UnsetType = UNSET
    first_report_for_thread_in_process: bool | UnsetType = UNSET
    client_change: ClientChange | None | UnsetType = UNSET
