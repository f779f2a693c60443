"""What a report of usage says, as values: its JSON is these values as they are."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from turnlog.store.usage.periods import Span
from turnlog.transcripts.usage.price_list import PriceTable

__all__ = [
    "BlockState",
    "Breakdown",
    "CallTally",
    "Grouping",
    "ReportedCost",
    "SessionNote",
    "UsageReport",
    "UsageRow",
]


class Grouping(StrEnum):
    """What makes a row."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    SESSION = "session"
    PROJECT = "project"
    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    SKILL = "skill"
    MCP = "mcp"
    PERSON = "person"
    MACHINE = "machine"
    BLOCKS = "blocks"


class Breakdown(StrEnum):
    """What rows are divided by."""

    MODEL = "model"
    AGENT = "agent"
    SKILL = "skill"
    MCP = "mcp"
    PERSON = "person"
    MACHINE = "machine"


class CallTally(Struct, frozen=True, gc=False):
    """The outcomes of a tool's calls."""

    calls: int
    failed: int
    seconds: float
    """From call to result, of those that have one."""


class SessionNote(Struct, frozen=True, gc=False):
    """What is known about a session besides its usage."""

    project: str | None
    title: str | None
    reported_usd: Decimal | None
    """The cost that Claude Code reports."""


class BlockState(Struct, frozen=True, gc=False):
    """A block of five hours."""

    start: str
    """In UTC, as is the end."""
    end: str
    active: bool
    minutes_left: int
    tokens_per_minute: int
    """From the first answer to the last, or up to now; only while it is active."""
    projected_tokens: int
    """The projection for its end, at the current pace."""
    projected_usd: Decimal
    limit_used: float | None = None
    """The fraction of the limit used, if a limit was given."""
    limit_projected: float | None = None


class UsageRow(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What some answers used and cost together."""

    name: str | None
    """None if there is no name."""
    messages: int
    incomplete: int
    """How many were recorded before they ended: their output, and so the cost, is a lower bound."""
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    cost_usd: Decimal
    saved_usd: Decimal
    """What the cache saved: the price of its reads as plain input, minus the extra cost of writes."""
    unpriced: dict[str, int]
    """Messages not included in the cost because their model has no price, by model."""
    estimated: dict[str, int]
    """Messages priced at the standard rate although served under other terms, by those terms."""
    first: str | None
    """The first time in it, in UTC."""
    last: str | None
    breakdown: tuple[UsageRow, ...] = ()
    session: SessionNote | None = None
    tool: CallTally | None = None
    block: BlockState | None = None


class ReportedCost(Struct, frozen=True, gc=False):
    """The cost that Claude Code reports for a session, and the cost computed from its lines."""

    session: str
    source: Literal["cost-state", "result"]
    cost_usd: Decimal
    computed_usd: Decimal
    """Computed from all its lines, including those that another session owns."""


class UsageReport(Struct, frozen=True, gc=False, kw_only=True):
    """Tokens and cost."""

    by: Grouping
    breakdown: Breakdown | None
    timezone: str
    since: date | None
    until: date | None
    available: Span | None
    """From the first day with answers to the last one, where the days asked for have none; None otherwise."""
    files: int
    rows: tuple[UsageRow, ...]
    others: UsageRow | None
    """All omitted rows combined; None if there are none."""
    left_out: int
    """How many rows were omitted."""
    total: UsageRow
    reported: tuple[ReportedCost, ...]
    prices: PriceTable | None
    """None if nothing had to be priced."""
