"""What `turnlog usage` says, as a value: its JSON is this value as it is."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal, get_args

from msgspec import Struct

from turnlog.cli.clock import LOCAL
from turnlog.transcripts.usage.fold import (
    MessageUsage,
    SessionUsage,
    UsageFold,
    find_reported_cost,
    group_by_attribution,
    group_by_day,
    group_by_model,
    group_by_session,
)
from turnlog.transcripts.usage.pricing import Bill, Prices, PriceTable, find_table

__all__ = ["GROUPINGS", "Grouping", "ReportedCost", "UsageReport", "UsageRow", "build_report"]

Grouping = Literal["model", "session", "day", "agent", "skill"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)


class UsageRow(Struct, frozen=True, gc=False):
    """What some messages used and cost together."""

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
    unpriced: dict[str, int]
    """Messages that the cost does not include, by their model, which has no price."""
    estimated: dict[str, int]
    """Messages that are priced as if served the standard way, by what they say instead."""


class ReportedCost(Struct, frozen=True, gc=False):
    """What Claude Code itself says that a session cost, beside what its lines come to."""

    session: str
    source: Literal["cost-state", "result"]
    cost_usd: Decimal
    computed_usd: Decimal


class UsageReport(Struct, frozen=True, gc=False):
    """Tokens and money of some files."""

    by: Grouping
    files: int
    rows: tuple[UsageRow, ...]
    total: UsageRow
    reported: tuple[ReportedCost, ...]
    prices: PriceTable


def build_report(fold: UsageFold, prices: Prices, by: Grouping, files: int) -> UsageReport:
    """Price what a fold has gathered."""
    messages = fold.list_messages()
    return UsageReport(
        by=by,
        files=files,
        rows=tuple(_row(name, prices.build_bill(group)) for name, group in _group(messages, by)),
        total=_row("total", prices.build_bill(messages)),
        reported=tuple(
            reported
            for session in fold.list_sessions()
            if (reported := _reported(session, fold, prices)) is not None
        ),
        prices=find_table(),
    )


def _group(messages: list[MessageUsage], by: Grouping) -> Iterable[tuple[str | None, list[MessageUsage]]]:
    match by:
        case "model":
            return group_by_model(messages).items()
        case "session":
            return group_by_session(messages).items()
        case "day":
            days = group_by_day(messages, LOCAL).items()
            return [(None if day is None else day.isoformat(), group) for day, group in days]
        case "agent":
            # An agent that does not say of which kind it is stands for itself.
            kinds = group_by_attribution(messages, "agent")
            return [*group_by_attribution(kinds.pop(None, []), "agent_id").items(), *kinds.items()]
        case "skill":
            return group_by_attribution(messages, "skill").items()


def _row(name: str | None, bill: Bill) -> UsageRow:
    tokens = bill.totals.tokens
    return UsageRow(
        name=name,
        messages=bill.totals.messages,
        incomplete=bill.totals.incomplete,
        input=tokens.input,
        output=tokens.output,
        cache_read=tokens.cache_read,
        cache_write_5m=tokens.cache_write_5m,
        cache_write_1h=tokens.cache_write_1h,
        web_searches=tokens.web_searches,
        cost_usd=bill.cost,
        unpriced={model or "(no model)": totals.messages for model, totals in bill.unpriced.items()},
        estimated={term: totals.messages for term, totals in bill.unpriced_terms.items()},
    )


def _reported(session: SessionUsage, fold: UsageFold, prices: Prices) -> ReportedCost | None:
    said = session.cost_state or session.result
    cost = None if said is None else find_reported_cost(said)
    if cost is None:
        return None
    return ReportedCost(
        session=session.session,
        source="result" if session.cost_state is None else "cost-state",
        cost_usd=cost,
        computed_usd=prices.build_bill(fold.list_messages(session.session)).cost,
    )
