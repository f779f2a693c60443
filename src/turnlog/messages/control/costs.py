"""What a session has cost, what is left of the account's limits, and what used them up."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, OpenEnum, Snake, UnsetType
from turnlog.messages.control.base import SnakeRequest
from turnlog.messages.metadata import ModelUsage


class GetSessionCostRequest(SnakeRequest, tag="get_session_cost"):
    """Return the session's cost as text."""


class GetUsageRequest(SnakeRequest, tag="get_usage"):
    """Return the session's totals and the account's limits."""

    skip_behaviors: bool | UnsetType = UNSET


class SessionTotals(Snake):
    """What a session has cost so far."""

    total_cost_usd: Number | UnsetType = UNSET
    total_api_duration_ms: Number | UnsetType = UNSET
    total_duration_ms: Number | UnsetType = UNSET
    total_lines_added: int | UnsetType = UNSET
    total_lines_removed: int | UnsetType = UNSET
    model_usage: dict[str, ModelUsage] | UnsetType = UNSET


class LimitWindow(Snake):
    """How much of a limit is used, and when it starts anew."""

    utilization: Number | None | UnsetType = UNSET
    resets_at: str | None | UnsetType = UNSET


class ModelLimit(LimitWindow):
    """How much of one model's limit is used."""

    display_name: str | UnsetType = UNSET


class ExtraUsage(Snake):
    """What may be used, and was, beyond the plan."""

    is_enabled: bool | UnsetType = UNSET
    monthly_limit: Number | None | UnsetType = UNSET
    used_credits: Number | None | UnsetType = UNSET
    utilization: Number | None | UnsetType = UNSET
    currency: str | None | UnsetType = UNSET


class RateLimits(Snake):
    """The account's limits."""

    five_hour: LimitWindow | None | UnsetType = UNSET
    seven_day: LimitWindow | None | UnsetType = UNSET
    seven_day_oauth_apps: LimitWindow | None | UnsetType = UNSET
    seven_day_opus: LimitWindow | None | UnsetType = UNSET
    seven_day_sonnet: LimitWindow | None | UnsetType = UNSET
    model_scoped: tuple[ModelLimit, ...] | UnsetType = UNSET
    extra_usage: ExtraUsage | None | UnsetType = UNSET


class BehaviorKey(OpenEnum):
    """A habit that uses up the limits."""

    CACHE_MISS = "cache_miss"
    LONG_CONTEXT = "long_context"
    SUBAGENT_HEAVY = "subagent_heavy"
    HIGH_PARALLEL = "high_parallel"
    CRON = "cron"
    MAX_EFFORT = "max_effort"
    WORKFLOW = "workflow"
    ALWAYS_ON_CONTEXT = "always_on_context"
    LARGE_TOOL_RESULTS = "large_tool_results"


class Behavior(Snake):
    """How much a habit uses."""

    key: BehaviorKey
    pct: Number | UnsetType = UNSET
    count: int | UnsetType = UNSET


class Recommendation(Snake):
    """What would use less."""

    key: str
    pct: Number | UnsetType = UNSET
    title: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET


class SuggestedFix(Snake):
    """Prompts that would put recommendations into effect."""

    keys: tuple[str, ...] | UnsetType = UNSET
    messages: tuple[str, ...] | UnsetType = UNSET


class Share(Snake):
    """How much an agent, a skill, a plugin or a server uses."""

    name: str
    pct: Number | UnsetType = UNSET


class BehaviorReport(Snake):
    """What used up the limits in a day or a week."""

    request_count: int | UnsetType = UNSET
    session_count: int | UnsetType = UNSET
    behaviors: tuple[Behavior, ...] | UnsetType = UNSET
    recommendations: tuple[Recommendation, ...] | UnsetType = UNSET
    fix: SuggestedFix | UnsetType = UNSET
    agents: tuple[Share, ...] | UnsetType = UNSET
    skills: tuple[Share, ...] | UnsetType = UNSET
    plugins: tuple[Share, ...] | UnsetType = UNSET
    mcp_servers: tuple[Share, ...] | UnsetType = UNSET


class Behaviors(Snake):
    """What used up the limits, of late."""

    day: BehaviorReport | UnsetType = UNSET
    week: BehaviorReport | UnsetType = UNSET


class UsageReply(Snake):
    """The session's totals and the account's limits."""

    session: SessionTotals
    subscription_type: str | None | UnsetType = UNSET
    rate_limits_available: bool | UnsetType = UNSET
    rate_limits: RateLimits | None | UnsetType = UNSET
    behaviors: Behaviors | None | UnsetType = UNSET
