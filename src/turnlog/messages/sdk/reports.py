"""Reports that some answers carry in figures beside their text: of `/context` and of `/usage`."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, OpenEnum, Snake, UnsetType
from turnlog.messages.control.requests import ContextCategoryKind, ExtraUsage, SessionTotals


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
