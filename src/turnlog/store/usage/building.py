"""Reports of usage, wherever it comes from."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from turnlog.instants import find_moment
from turnlog.store.usage.cells import UsageCell
from turnlog.store.usage.cutting import OTHERS, cut_reported, cut_rows, sum_rows
from turnlog.store.usage.grouping import UsageQuery, build_rows, select
from turnlog.store.usage.periods import Span, find_day
from turnlog.store.usage.report import Grouping, UsageReport, UsageRow
from turnlog.store.usage.source import SummingSource, UsageSource, UsageSums
from turnlog.store.usage.tallies import Tally
from turnlog.store.usage.tools import build_summed_rows, build_tool_rows

__all__ = ["build_report"]


def build_report(source: UsageSource, query: UsageQuery) -> UsageReport:
    """Return what is asked for; the rows and the others add up to the total."""
    reported = source.list_reported()
    others, left_out = None, 0
    if query.by is Grouping.TOOL:
        rows, total, sessions = _build_by_tool(source, query)
    else:
        sums = source.add_up(query) if isinstance(source, SummingSource) else _add_up(source, query)
        rows = build_rows(sums.cells, query, {each.session: each.cost_usd for each in reported})
        total, sessions = Tally((*sums.cells, *sums.others)).build_row("total"), sums.sessions
        if sums.left_out:
            others, left_out = Tally(sums.others).build_row(OTHERS), sums.left_out
    if sessions is not None:
        reported = [each for each in reported if each.session in sessions]
    if query.most is not None:
        reported = cut_reported(reported, query.most)
        if not left_out:
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
    sums = source.add_up(everything) if isinstance(source, SummingSource) else _add_up(source, everything)
    tally = Tally(sums.cells)
    first, last = find_moment(tally.first), find_moment(tally.last)
    if first is None or last is None:
        return None
    return Span(find_day(first, query.zone), find_day(last, query.zone))


def _add_up(source: UsageSource, query: UsageQuery) -> UsageSums:
    """Return all cells that count."""
    cells = select(source.list_cells(), query)
    if query.by is Grouping.BLOCKS:  # what bears no time is in no block
        cells = [cell for cell in cells if cell.slot is not None]
    return UsageSums(cells=cells, sessions=_list_sessions(cells, query))


def _build_by_tool(
    source: UsageSource, query: UsageQuery
) -> tuple[tuple[UsageRow, ...], UsageRow, frozenset[str] | None]:
    if isinstance(source, SummingSource):
        sums = source.add_up_tools(query)
        total = Tally(part.cell for part in sums.parts)
        return build_summed_rows(sums.parts), total.build_row("total"), sums.sessions
    answers = source.list_answers()
    cells = select((answer.cell for answer in answers), query)
    if len(cells) < len(answers):
        kept = set(map(id, cells))
        answers = [answer for answer in answers if id(answer.cell) in kept]
    rows = build_tool_rows(answers, source.list_calls())
    return rows, Tally(cells).build_row("total"), _list_sessions(cells, query)


def _list_sessions(cells: Iterable[UsageCell], query: UsageQuery) -> frozenset[str] | None:
    return frozenset(cell.session for cell in cells) if query.is_narrowed else None
