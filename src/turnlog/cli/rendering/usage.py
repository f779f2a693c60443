"""Tokens and money as a table, and what to know about its figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from decimal import Decimal

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from turnlog.cli.rendering.figures import cost_text, count_text, money_text, plural
from turnlog.cli.terminal import clean_line
from turnlog.cli.usage_report import ReportedCost, UsageReport, UsageRow

__all__ = ["render_csv", "render_usage"]

_NAMELESS = {"model": "(no model)", "session": "", "day": "(no time)", "agent": "(main)", "skill": "(none)"}
_COLUMNS = {
    "messages": "messages",
    "input": "input",
    "output": "output",
    "cache_read": "cache read",
    "cache_write_5m": "write 5m",
    "cache_write_1h": "write 1h",
    "web_searches": "searches",
}


def render_usage(report: UsageReport) -> Iterator[RenderableType]:
    """Yield the table and its notes."""
    yield _table(report)
    yield from (Text(clean_line(note), style="dim") for note in _list_notes(report))


def render_csv(report: UsageReport) -> str:
    """Return the rows as CSV, with a line of names; the total is left to whoever adds them up."""
    text = io.StringIO()
    names = [report.by, *_COLUMNS, "incomplete", "cost_usd", "unpriced", "estimated"]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in report.rows:
        counts = [getattr(row, name) for name in _COLUMNS]
        unpriced, estimated = sum(row.unpriced.values()), sum(row.estimated.values())
        cost = format(row.cost_usd, "f")
        writer.writerow([row.name or "", *counts, row.incomplete, cost, unpriced, estimated])
    return text.getvalue()


def _table(report: UsageReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_footer=True, footer_style="bold")
    # Searches are rare: without any, there is no column for them.
    columns = [name for name in _COLUMNS if name != "web_searches" or report.total.web_searches]
    table.add_column(report.by, "total", overflow="fold")
    for name in columns:
        table.add_column(_COLUMNS[name], _count(report.total, name), justify="right", no_wrap=True)
    table.add_column("cost", _cost(report.total), justify="right", no_wrap=True)
    own = (
        {each.session: money_text(each.cost_usd) for each in report.reported} if report.by == "session" else {}
    )
    if own:
        table.add_column("own figure", justify="right", no_wrap=True)
    for row in report.rows:
        name = _NAMELESS[report.by] if row.name is None else clean_line(row.name)
        cells = [*(_count(row, name) for name in columns), _cost(row)]
        table.add_row(Text(name), *cells, *([own.get(row.name or "", "")] if own else []))
    return table


def _count(row: UsageRow, name: str) -> str:
    floor = "≥" if name == "output" and row.incomplete else ""
    return floor + count_text(getattr(row, name))


def _cost(row: UsageRow) -> str:
    if row.messages and sum(row.unpriced.values()) == row.messages:
        return "unpriced"
    return cost_text(row.cost_usd, bool(row.estimated), bool(row.incomplete or row.unpriced))


def _list_notes(report: UsageReport) -> Iterator[str]:
    total = report.total
    if total.incomplete:
        yield f"≥ {plural(total.incomplete, 'message')} recorded before the end: output and cost are a floor"
    for model, count in total.unpriced.items():
        yield f"unpriced: {model} ({plural(count, 'message')}, not in the cost)"
    for term, count in total.estimated.items():
        yield f"≈ {term} has no price of its own ({plural(count, 'message')}, priced without it)"
    if report.reported:
        yield _own_figures(report.reported)
    yield f"prices: {report.prices.name} {report.prices.version}, newest of {report.prices.newest}"


def _own_figures(reported: tuple[ReportedCost, ...]) -> str:
    said = money_text(sum((each.cost_usd for each in reported), Decimal(0)))
    computed = money_text(sum((each.computed_usd for each in reported), Decimal(0)))
    sessions = plural(len(reported), "session")
    return f"Claude Code's own figure for {sessions}: {said}; what their lines come to: {computed}"
