"""Smaller tools: review findings, feedback, design, onboarding, settings and structured output."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Raw, Snake, UnsetType

StructuredOutputInput = dict[str, Raw]
"""The answer in the shape that the caller's own JSON Schema asks for."""


class Finding(Snake):
    """Something that a code review found."""

    file: str
    line: int | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    short_summary: str | UnsetType = UNSET
    failure_scenario: str | UnsetType = UNSET
    category: str | UnsetType = UNSET
    verdict: str | UnsetType = UNSET
    """`CONFIRMED` or `PLAUSIBLE`."""
    outcome: str | UnsetType = UNSET
    """`fixed`, `skipped` or `no_change_needed`."""


class ReportFindingsInput(Snake):
    """What a code review found."""

    level: str | UnsetType = UNSET
    """`low`, `medium`, `high`, `xhigh` or `max`."""
    findings: tuple[Finding, ...]


class ReportFindingsResult(Snake):
    """What was reported, and how much."""

    count: int
    level: str | UnsetType = UNSET
    findings: tuple[Finding, ...]


class SendFeedbackInput(Snake):
    """Feedback on Claude Code that the agent drafts."""

    type: str | UnsetType = UNSET
    """`bug`, `idea` or `missing_capability`."""
    title: str
    details: str | UnsetType = UNSET
    area: str | UnsetType = UNSET
    failure_mode: str | UnsetType = UNSET
    """`instruction_following`, `code_quality`, `overeager` and the like, or `other`."""
    task_category: str | UnsetType = UNSET
    """`code_edit`, `debug`, `explain`, `plan`, `shell`, `search`, `review` or `other`."""


class SendFeedbackResult(Camel):
    """Whether the feedback was taken."""

    success: bool
    message: str


class ClaudeDesignInput(Snake):
    """An operation of the design service."""

    operation: str
    arguments: dict[str, Raw] | UnsetType = UNSET


class ClaudeDesignResult(Camel):
    """The design service's answer."""

    operation: str
    content: tuple[dict[str, Raw], ...]
    is_error: bool | UnsetType = UNSET


class ShareOnboardingGuideInput(Snake):
    """Something to do with a team's onboarding guide."""

    mode: str
    """`check`, `update`, `create` or `delete`."""
    short_code: str | UnsetType = UNSET


class ShowOnboardingRolePickerInput(Snake):
    """A wish to ask for the user's role; it has no parameters."""


class ShowOnboardingRolePickerResult(Camel):
    """The role that the user chose, if any."""

    role: str | UnsetType = UNSET
    dismissed: bool | UnsetType = UNSET


class OfferChromeSetupInput(Snake):
    """A wish to connect the browser."""

    reason: str | UnsetType = UNSET


class OfferChromeSetupResult(Camel):
    """What became of the wish to connect the browser."""

    outcome: str
    """`connected`, `not_now` or `no_attempt_yet`."""


class EndConversationInput(Snake):
    """The model's wish to end an abusive conversation; it has no parameters."""


class ConfigInput(Snake):
    """A setting to read, or to change."""

    setting: str
    value: str | bool | int | float | UnsetType = UNSET


class ConfigResult(Camel):
    """A setting before and after; its values are of any JSON type."""

    success: bool
    operation: str | UnsetType = UNSET
    """`get` or `set`."""
    setting: str
    value: Raw | UnsetType = UNSET
    previous_value: Raw | UnsetType = UNSET
    new_value: Raw | UnsetType = UNSET
    error: str | UnsetType = UNSET
