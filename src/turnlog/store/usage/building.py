"""Reports of usage, wherever it comes from."""

from __future__ import annotations

from turnlog.store.usage.cutting import cut_reported, cut_rows, sum_rows
from turnlog.store.usage.grouping import UsageQuery, build_rows, select
from turnlog.store.usage.report import Grouping, UsageReport, UsageRow
from turnlog.store.usage.source import UsageSource
from turnlog.store.usage.tallies import Tally
from turnlog.store.usage.tools import build_tool_rows

__all__ = ["build_report"]


def build_report(source: UsageSource, query: UsageQuery) -> UsageReport:
    """Return what is asked for; the rows and the others add up to the total."""
    reported = source.list_reported()
    if query.by is Grouping.TOOL:
        rows, total, sessions = _build_by_tool(source, query)
    else:
        cells = select(source.list_cells(), query)
        if query.by is Grouping.BLOCKS:  # what bears no time is in no block
            cells = [cell for cell in cells if cell.slot is not None]
        rows = build_rows(cells, query, {each.session: each.cost_usd for each in reported})
        total, sessions = Tally(cells).build_row("total"), {cell.session for cell in cells}
    if query.is_narrowed:
        reported = [each for each in reported if each.session in sessions]
    rest: tuple[UsageRow, ...] = ()
    if query.most is not None:
        rows, rest = cut_rows(rows, query.by, query.most)
        reported = cut_reported(reported, query.most)
    return UsageReport(
        by=query.by,
        breakdown=query.breakdown,
        timezone=query.zone_name,
        since=query.span.since,
        until=query.span.until,
        files=source.count_files(),
        rows=rows,
        others=sum_rows(rest),
        left_out=len(rest),
        total=total,
        reported=tuple(reported),
        prices=source.find_prices(),
    )


def _build_by_tool(source: UsageSource, query: UsageQuery) -> tuple[tuple[UsageRow, ...], UsageRow, set[str]]:
    answers = source.list_answers()
    cells = select((answer.cell for answer in answers), query)
    if len(cells) < len(answers):
        kept = set(map(id, cells))
        answers = [answer for answer in answers if id(answer.cell) in kept]
    rows = build_tool_rows(answers, source.list_calls())
    return rows, Tally(cells).build_row("total"), {cell.session for cell in cells}
