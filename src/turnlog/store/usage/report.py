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
    """What a row is broken down by."""

    MODEL = "model"
    AGENT = "agent"
    SKILL = "skill"
    MCP = "mcp"
    PERSON = "person"
    MACHINE = "machine"


class CallTally(Struct, frozen=True, gc=False):
    """What became of a tool's calls."""

    calls: int
    failed: int
    seconds: float
    """From call to result, of those that have one."""


class SessionNote(Struct, frozen=True, gc=False):
    """What is known of a session besides its usage."""

    project: str | None
    title: str | None
    reported_usd: Decimal | None
    """What Claude Code itself says that it cost."""


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
    """At its end, if it goes on like this."""
    projected_usd: Decimal
    limit_used: float | None = None
    """Which part of the limit is used up, where one was given."""
    limit_projected: float | None = None


class UsageRow(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What some answers used and cost together."""

    name: str | None
    """None for what names none."""
    messages: int
    incomplete: int
    """How many were recorded before their end: their output, and so the cost, is a floor."""
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    cost_usd: Decimal
    saved_usd: Decimal
    """What the cache saved: reads as plain input, less what writing cost more than that."""
    unpriced: dict[str, int]
    """Messages that the cost does not include, by their model, which has no price."""
    estimated: dict[str, int]
    """Messages that are priced as if served the standard way, by what they say instead."""
    first: str | None
    """The first time in it, in UTC."""
    last: str | None
    breakdown: tuple[UsageRow, ...] = ()
    session: SessionNote | None = None
    tool: CallTally | None = None
    block: BlockState | None = None


class ReportedCost(Struct, frozen=True, gc=False):
    """What Claude Code itself says that a session cost, beside what its lines come to."""

    session: str
    source: Literal["cost-state", "result"]
    cost_usd: Decimal
    computed_usd: Decimal
    """Of all its lines, those included that another session owns."""


class UsageReport(Struct, frozen=True, gc=False, kw_only=True):
    """Tokens and money."""

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
    """All rows that are left out, in one; None if none is."""
    left_out: int
    """How many they are."""
    total: UsageRow
    reported: tuple[ReportedCost, ...]
    prices: PriceTable | None
    """None if nothing had to be priced."""
