"""Reports of usage, wherever it comes from."""

from __future__ import annotations

from msgspec.structs import replace

from turnlog.instants import find_moment
from turnlog.store.usage.cells import UsageCell
from turnlog.store.usage.cutting import cut_reported, cut_rows, sum_rows
from turnlog.store.usage.grouping import UsageQuery, build_rows, select
from turnlog.store.usage.periods import Span, find_day
from turnlog.store.usage.report import Grouping, UsageReport, UsageRow
from turnlog.store.usage.source import UsageSource
from turnlog.store.usage.tallies import Tally
from turnlog.store.usage.tools import build_tool_rows

__all__ = ["build_report"]


def build_report(source: UsageSource, query: UsageQuery) -> UsageReport:
    """Return what is asked for; the rows and the others add up to the total."""
    reported = source.list_reported()
    if query.by is Grouping.TOOL:
        rows, cells = _build_by_tool(source, query)
    else:
        cells = _list_cells(source, query)
        rows = build_rows(cells, query, {each.session: each.cost_usd for each in reported})
    total = Tally(cells).build_row("total")
    if query.is_narrowed:
        sessions = {cell.session for cell in cells}
        reported = [each for each in reported if each.session in sessions]
    others, left_out = None, 0
    if query.most is not None:
        reported = cut_reported(reported, query.most)
        rows, rest = cut_rows(rows, query.by, query.most)
        others, left_out = sum_rows(rest), len(rest)
    return UsageReport(
        by=query.by,
        breakdown=query.breakdown,
        timezone=query.zone_name,
        since=query.span.since,
        until=query.span.until,
        available=None if total.messages or query.span == Span() else _find_available(source, query),
        files=source.count_files(),
        rows=rows,
        others=others,
        left_out=left_out,
        total=total,
        reported=tuple(reported),
        prices=source.find_prices(),
    )


def _find_available(source: UsageSource, query: UsageQuery) -> Span | None:
    """Return from when to when there are answers, whichever days are asked for; None if there are none."""
    everything = replace(query, by=Grouping.MONTHLY, breakdown=None, span=Span(), most=None)
    tally = Tally(_list_cells(source, everything))
    first, last = find_moment(tally.first), find_moment(tally.last)
    if first is None or last is None:
        return None
    return Span(find_day(first, query.zone), find_day(last, query.zone))


def _list_cells(source: UsageSource, query: UsageQuery) -> list[UsageCell]:
    """Return all cells that count."""
    cells = select(source.list_cells(), query)
    if query.by is Grouping.BLOCKS:  # what bears no time is in no block
        return [cell for cell in cells if cell.slot is not None]
    return cells


def _build_by_tool(source: UsageSource, query: UsageQuery) -> tuple[tuple[UsageRow, ...], list[UsageCell]]:
    """Return the rows, and all cells that count."""
    answers = source.list_answers()
    cells = select((answer.cell for answer in answers), query)
    if len(cells) < len(answers):
        kept = set(map(id, cells))
        answers = [answer for answer in answers if id(answer.cell) in kept]
    return build_tool_rows(answers, source.list_calls()), cells
