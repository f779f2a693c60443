"""Long reports cut to what somebody looks at: the dearest rows, or the newest, and the others in one.

A row for each session is a row for each of ten thousand; a row for each day is one for each day that any line
claims to be of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from turnlog.store.usage.report import CallTally, Grouping, ReportedCost, UsageRow

__all__ = ["cut_reported", "cut_rows", "sum_rows"]

_BY_TIME = frozenset({Grouping.DAILY, Grouping.WEEKLY, Grouping.MONTHLY, Grouping.BLOCKS})
_OTHERS = "others"


def cut_rows(
    rows: Sequence[UsageRow], by: Grouping, most: int
) -> tuple[tuple[UsageRow, ...], tuple[UsageRow, ...]]:
    """Return the rows that matter most, in the order that they are in, and the others."""
    if len(rows) <= most:
        return tuple(rows), ()
    ranked = range(len(rows)) if by in _BY_TIME else sorted(range(len(rows)), key=lambda at: _rank(rows[at]))
    kept = set(ranked[len(rows) - most :])
    return (
        tuple(row for at, row in enumerate(rows) if at in kept),
        tuple(row for at, row in enumerate(rows) if at not in kept),
    )


def cut_reported(reported: Iterable[ReportedCost], most: int) -> list[ReportedCost]:
    """Return what the program itself says, in the order that it is in, of the sessions that matter most."""
    listed = list(reported)
    kept = sorted(listed, key=lambda each: each.cost_usd, reverse=True)[:most]
    names = {each.session for each in kept}
    return [each for each in listed if each.session in names]


def sum_rows(rows: Sequence[UsageRow]) -> UsageRow | None:
    """Return rows as one; None if there are none."""
    if not rows:
        return None
    tools = [row.tool for row in rows if row.tool is not None]
    return UsageRow(
        name=_OTHERS,
        messages=sum(row.messages for row in rows),
        incomplete=sum(row.incomplete for row in rows),
        input=sum(row.input for row in rows),
        output=sum(row.output for row in rows),
        cache_read=sum(row.cache_read for row in rows),
        cache_write_5m=sum(row.cache_write_5m for row in rows),
        cache_write_1h=sum(row.cache_write_1h for row in rows),
        web_searches=sum(row.web_searches for row in rows),
        cost_usd=sum((row.cost_usd for row in rows), Decimal(0)),
        saved_usd=sum((row.saved_usd for row in rows), Decimal(0)),
        unpriced=_add(row.unpriced for row in rows),
        estimated=_add(row.estimated for row in rows),
        first=min((row.first for row in rows if row.first is not None), default=None),
        last=max((row.last for row in rows if row.last is not None), default=None),
        tool=_sum_tools(tools) if tools else None,
    )


def _rank(row: UsageRow) -> tuple[Decimal, int, int, str]:
    tokens = row.input + row.output + row.cache_read + row.cache_write_5m + row.cache_write_1h
    return row.cost_usd, tokens, 0 if row.tool is None else row.tool.calls, row.name or ""


def _sum_tools(tools: Sequence[CallTally]) -> CallTally:
    return CallTally(
        sum(tool.calls for tool in tools),
        sum(tool.failed for tool in tools),
        sum(tool.seconds for tool in tools),
    )


def _add(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))
