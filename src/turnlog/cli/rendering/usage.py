"""Tokens and money as a table, and what to know about its figures."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from decimal import Decimal

from turnlog.cli.clock import duration_text
from turnlog.cli.rendering.figures import count_text
from turnlog.cli.rendering.tables import Column, cell_width, dim, render_table, shorten_count
from turnlog.cli.terminal import clean_line
from turnlog.export.plain import plural
from turnlog.store.usage.report import Grouping, ReportedCost, UsageReport, UsageRow
from turnlog.transcripts.usage.prices import cost_text, money_text

_NAMELESS = {
    "model": "(no model)", "session": "", "daily": "(no time)", "weekly": "(no time)", "monthly": "(no time)",
    "agent": "(main)", "skill": "(none)", "mcp": "(none)", "project": "(no project)", "tool": "(no call)",
    "person": "(nobody)", "machine": "(not known)",
    "blocks": "",
}  # fmt: skip
_HEADINGS = {"daily": "day", "weekly": "week", "monthly": "month", "mcp": "MCP server", "blocks": "block"}
_COUNTS = {
    "messages": "messages",
    "input": "input",
    "output": "output",
    "cache_read": "cache read",
    "cache_write_5m": "write 5m",
    "cache_write_1h": "write 1h",
    "web_searches": "searches",
}
_SPECIAL = {
    Grouping.SESSION: ("project", "title", "reported_usd"),
    Grouping.TOOL: ("calls", "failed", "seconds"),
    Grouping.BLOCKS: ("end", "active", "minutes_left", "projected_tokens", "projected_usd"),
}


def render_usage(report: UsageReport, width: int, color: bool) -> Iterator[str]:
    """Yield the table and its notes."""
    columns = _list_columns(report, count_text)
    if sum(max(map(cell_width, (each.name, *each.cells))) + 2 for each in columns) > width:
        columns = _list_columns(report, shorten_count)
    yield from render_table(columns, width, color=color, foot=True)
    for note in _list_notes(report):
        yield dim(clean_line(note), color)


def render_csv(report: UsageReport) -> str:
    """Return the rows as CSV, with a line of names; the total is left to whoever adds them up.

    Broken down, the parts stand there, each with the name of its row.
    """
    import csv

    text = io.StringIO()
    special = _SPECIAL.get(report.by, ())
    parts = [] if report.breakdown is None else [report.breakdown]
    names = [_HEADINGS.get(report.by, report.by), *parts, *_COUNTS, "incomplete", "cost_usd", "saved_usd"]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, "unpriced", "estimated", "first", "last", *special])
    for row in report.rows:
        rest = _list_special(row)
        if report.breakdown is None:
            writer.writerow([row.name or "", *_list_cells(row), *rest])
        else:
            for part in row.breakdown:
                writer.writerow([row.name or "", part.name or "", *_list_cells(part), *rest])
    return text.getvalue()


def _list_cells(row: UsageRow) -> list[object]:
    counts = [getattr(row, name) for name in _COUNTS]
    money = [format(row.cost_usd, "f"), format(row.saved_usd, "f")]
    doubts = [sum(row.unpriced.values()), sum(row.estimated.values())]
    return [*counts, row.incomplete, *money, *doubts, row.first or "", row.last or ""]


def _list_special(row: UsageRow) -> list[object]:
    if row.session is not None:
        reported = row.session.reported_usd
        amount = "" if reported is None else format(reported, "f")
        return [row.session.project or "", row.session.title or "", amount]
    if row.block is not None:
        block = row.block
        projected = [block.projected_tokens, format(block.projected_usd, "f")]
        return [block.end, str(block.active).lower(), block.minutes_left, *projected]
    if row.tool is not None:
        return [row.tool.calls, row.tool.failed, row.tool.seconds]
    return []


def _list_columns(report: UsageReport, count: Callable[[int], str]) -> list[Column]:
    rows = [line for row in report.rows for line in (row, *row.breakdown)]
    inner = {id(part) for row in report.rows for part in row.breakdown}
    # Searches are rare: without any, there is no column for them.
    names = [name for name in _COUNTS if name != "web_searches" or report.total.web_searches]
    first = [_name(row, report, id(row) in inner) for row in rows]
    return [
        Column(_HEADINGS.get(report.by, report.by), [*first, "total"], is_text=True),
        *_list_special_columns(report, rows, count),
        *(Column(_COUNTS[name], [_count(row, name, count) for row in (*rows, report.total)]) for name in names),
        Column("cost", [_cost(row) for row in (*rows, report.total)]),
        *_list_own_figures(report, rows),
    ]


def _list_special_columns(
    report: UsageReport, rows: list[UsageRow], count: Callable[[int], str]
) -> Iterator[Column]:
    if report.by is Grouping.TOOL:
        tallies = [row.tool for row in rows]
        calls = [each.calls if each else 0 for each in tallies]
        failed = [each.failed if each else 0 for each in tallies]
        seconds = [each.seconds if each else 0.0 for each in tallies]
        yield Column("calls", [*(count(each) if each else "" for each in calls), count(sum(calls))])
        yield Column("failed", [*(count(each) if each else "" for each in failed), count(sum(failed))])
        yield Column("time", [duration_text(each) if each else "" for each in (*seconds, sum(seconds))])
    elif report.by is Grouping.BLOCKS:
        states = [row.block for row in rows]
        left = [duration_text(each.minutes_left * 60) if each and each.active else "" for each in states]
        yield Column("left", [*left, ""])


def _list_own_figures(report: UsageReport, rows: list[UsageRow]) -> Iterator[Column]:
    own = [row.session.reported_usd if row.session else None for row in rows]
    if any(each is not None for each in own):
        yield Column("own figure", [*("" if each is None else money_text(each) for each in own), ""])


def _name(row: UsageRow, report: UsageReport, is_part: bool) -> str:
    by = report.breakdown if is_part and report.breakdown is not None else report.by
    name = _NAMELESS[by] if row.name is None else clean_line(row.name)
    return f"  {name}" if is_part else name


def _count(row: UsageRow, name: str, count: Callable[[int], str]) -> str:
    floor = "≥" if name == "output" and row.incomplete else ""
    return floor + count(getattr(row, name))


def _cost(row: UsageRow) -> str:
    if row.messages and sum(row.unpriced.values()) == row.messages:
        return "unpriced"
    return cost_text(row.cost_usd, bool(row.estimated), bool(row.incomplete or row.unpriced))


def _list_notes(report: UsageReport) -> Iterator[str]:
    total = report.total
    for row in report.rows:
        if row.block is not None and row.block.active:
            yield from _describe_block(row)
    if total.incomplete:
        cut = plural(total.incomplete, "message")
        yield f"≥ {cut} recorded before completion: output and cost are lower bounds"
    for model, count in total.unpriced.items():
        yield f"unpriced: {model} ({plural(count, 'message')}, not in the cost)"
    for term, count in total.estimated.items():
        yield f"≈ {term} has no separate price ({plural(count, 'message')}, priced without it)"
    if total.saved_usd:
        saved = _amount(total.saved_usd)
        yield f"the cache saved {saved}: reads at the price of plain input, minus the extra cost of writing"
    if report.reported:
        yield _own_figures(report.reported)
    if report.prices is not None:
        yield f"prices: {report.prices.name} {report.prices.version}, latest from {report.prices.newest}"


def _describe_block(row: UsageRow) -> Iterator[str]:
    block = row.block
    if block is None:
        return
    yield (
        f"active: {duration_text(block.minutes_left * 60)} left, {count_text(block.tokens_per_minute)} tokens "
        f"a minute; at this rate {count_text(block.projected_tokens)} tokens, {money_text(block.projected_usd)}"
    )
    if block.limit_used is not None:
        yield f"limit: {block.limit_used:.0%} used, {block.limit_projected or 0:.0%} by the end"


def _amount(amount: Decimal) -> str:
    return money_text(amount) if amount >= 0 else f"-{money_text(-amount)}"


def _own_figures(reported: tuple[ReportedCost, ...]) -> str:
    said = money_text(sum((each.cost_usd for each in reported), Decimal(0)))
    computed = money_text(sum((each.computed_usd for each in reported), Decimal(0)))
    sessions = plural(len(reported), "session")
    return f"Claude Code's own figure for {sessions}: {said}; computed from their lines: {computed}"
