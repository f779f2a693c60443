"""What a report of usage says, as values: its JSON is these values as they are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from turnlog.instants import find_moment
from turnlog.store.usage.cells import Span, UsageCell
from turnlog.transcripts.usage.prices import PriceTable, to_dollars


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


NO_MODEL = "(no model)"


class Tally:
    """What some cells come to, so far."""

    __slots__ = (
        "cache_read", "cache_write_1h", "cache_write_5m", "cost", "estimated", "first", "incomplete", "input",
        "last", "messages", "output", "saved", "unpriced", "web_searches",
    )  # fmt: skip

    def __init__(self, cells: Iterable[UsageCell] = ()) -> None:
        self.messages = self.incomplete = self.input = self.output = self.cache_read = 0
        self.cache_write_5m = self.cache_write_1h = self.web_searches = self.cost = self.saved = 0
        self.first: int | None = None
        self.last: int | None = None
        self.unpriced: dict[str, int] = {}
        self.estimated: dict[str, int] = {}
        for cell in cells:
            self.add(cell)

    @property
    def tokens(self) -> int:
        """All tokens, cached or not."""
        return self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def add(self, cell: UsageCell) -> None:
        """Take a cell in."""
        self.messages += cell.messages
        self.incomplete += cell.incomplete
        self.input += cell.input
        self.output += cell.output
        self.cache_read += cell.cache_read
        self.cache_write_5m += cell.cache_write_5m
        self.cache_write_1h += cell.cache_write_1h
        self.web_searches += cell.web_searches
        self.cost += cell.cost
        self.saved += cell.saved
        if cell.first is not None and (self.first is None or cell.first < self.first):
            self.first = cell.first
        if cell.last is not None and (self.last is None or cell.last > self.last):
            self.last = cell.last
        if cell.unpriced:
            model = cell.model or NO_MODEL
            self.unpriced[model] = self.unpriced.get(model, 0) + cell.unpriced
        if cell.terms and cell.messages:
            for term in cell.terms.split(" "):
                self.estimated[term] = self.estimated.get(term, 0) + cell.messages

    def build_row(
        self,
        name: str | None,
        *,
        breakdown: tuple[UsageRow, ...] = (),
        session: SessionNote | None = None,
        tool: CallTally | None = None,
        block: BlockState | None = None,
    ) -> UsageRow:
        """Return it as a row of a report."""
        return UsageRow(
            name=name,
            messages=self.messages,
            incomplete=self.incomplete,
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write_5m=self.cache_write_5m,
            cache_write_1h=self.cache_write_1h,
            web_searches=self.web_searches,
            cost_usd=to_dollars(self.cost),
            saved_usd=to_dollars(self.saved),
            unpriced=dict(sorted(self.unpriced.items())),
            estimated=dict(sorted(self.estimated.items())),
            first=time_text(self.first),
            last=time_text(self.last),
            breakdown=breakdown,
            session=session,
            tool=tool,
            block=block,
        )


def time_text(time: int | None) -> str | None:
    """Return a time in microseconds since 1970 as ISO 8601 has it, in UTC; None for one beyond the calendar."""
    moment = find_moment(time)
    return None if moment is None else f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
