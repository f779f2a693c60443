"""`turnlog usage`: tokens and money, as a table with notes about its figures, as CSV or as JSON.

The figures come from the archive, brought up to date first, or from files as they are (`usage_files`). Tables
are plain text: quick to load, and readable in a pipe as well as on a terminal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from pathlib import Path

import click
import msgspec

from turnlog.cli.files import find_files, find_own_files
from turnlog.cli.output import Output, output_options
from turnlog.cli.plain_text import (
    LOCAL,
    Column,
    cell_width,
    count_text,
    duration_text,
    render_csv,
    render_table,
)
from turnlog.cli.terminal import FOUND_PROBLEMS, MisuseError, NothingFoundError, bold, clean_line, dim
from turnlog.config import Settings
from turnlog.export.plain_text import plural
from turnlog.store.model import is_made
from turnlog.store.usage_cells import Span, find_zone
from turnlog.store.usage_report import (
    Breakdown,
    Grouping,
    Limit,
    ReportedCost,
    UsageQuery,
    UsageReport,
    UsageRow,
    build_report,
)
from turnlog.transcripts.session_files import path_text
from turnlog.transcripts.usage.prices import Prices, QuoteMemory, Rates, cost_text, money_text

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
_Filled = tuple[Column, list[str]]
"""A column, and its cells from top to bottom."""
_SPECIAL = {
    Grouping.SESSION: ("project", "title", "reported_usd"),
    Grouping.TOOL: ("calls", "failed", "seconds"),
    Grouping.BLOCKS: ("end", "active", "minutes_left", "projected_tokens", "projected_usd"),
}


def render_usage(report: UsageReport, width: int, color: bool) -> Iterator[str]:
    """Yield the table, whose last line is a sum, and its notes."""
    columns = _list_columns(report, count_text)
    if sum(max(map(cell_width, (column.name, *cells))) + 2 for column, cells in columns) > width:
        columns = _list_columns(report, _shorten_count)
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    *lines, total = render_table([column for column, _ in columns], rows, width, color=color)
    yield from (*lines, bold(total, color))
    for note in _list_notes(report):
        yield dim(clean_line(note), color)


def render_usage_csv(report: UsageReport) -> str:
    """Return the rows as CSV, with a line of names; the total is left to whoever adds them up.

    Broken down, the parts stand there, each with the name of its row.
    """
    parts = [] if report.breakdown is None else [report.breakdown]
    names = [_HEADINGS.get(report.by, report.by), *parts, *_COUNTS, "incomplete", "cost_usd", "saved_usd"]
    names += ["unpriced", "estimated", "first", "last", *_SPECIAL.get(report.by, ())]
    rows: list[list[object]] = []
    for row in report.rows:
        if report.breakdown is None:
            rows.append([row.name, *_list_cells(row), *_list_special(row, report.by)])
        rows += (
            [row.name, part.name, *_list_cells(part), *_list_special(row, report.by)] for part in row.breakdown
        )
    return render_csv(names, rows)


def _list_cells(row: UsageRow) -> list[object]:
    doubts = [sum(row.unpriced.values()), sum(row.estimated.values())]
    counts = [getattr(row, name) for name in _COUNTS]
    return [*counts, row.incomplete, row.cost_usd, row.saved_usd, *doubts, row.first, row.last]


def _list_special(row: UsageRow, by: Grouping) -> list[object]:
    own = row.session or row.block or row.tool
    return [] if own is None else [getattr(own, name) for name in _SPECIAL.get(by, ())]


def _figures(name: str) -> Column:
    return Column(name, right=True)


def _list_columns(report: UsageReport, count: Callable[[int], str]) -> list[_Filled]:
    rows = [line for row in report.rows for line in (row, *row.breakdown)]
    inner = {id(part) for row in report.rows for part in row.breakdown}
    # Searches are rare: without any, there is no column for them.
    names = [name for name in _COUNTS if name != "web_searches" or report.total.web_searches]
    first = [_name(row, report, id(row) in inner) for row in rows]
    return [
        (Column(_HEADINGS.get(report.by, report.by), least=_NARROWEST, tail=True), [*first, "total"]),
        *_list_special_columns(report, rows, count),
        *(
            (_figures(_COUNTS[name]), [_count(row, name, count) for row in (*rows, report.total)])
            for name in names
        ),
        (_figures("cost"), [_cost(row) for row in (*rows, report.total)]),
        *_list_own_figures(report, rows),
    ]


def _list_special_columns(
    report: UsageReport, rows: list[UsageRow], count: Callable[[int], str]
) -> Iterator[_Filled]:
    if report.by is Grouping.TOOL:
        tallies = [row.tool for row in rows]
        calls = [each.calls if each else 0 for each in tallies]
        failed = [each.failed if each else 0 for each in tallies]
        seconds = [each.seconds if each else 0.0 for each in tallies]
        yield (_figures("calls"), [*(count(each) if each else "" for each in calls), count(sum(calls))])
        yield (_figures("failed"), [*(count(each) if each else "" for each in failed), count(sum(failed))])
        yield (_figures("time"), [duration_text(each) if each else "" for each in (*seconds, sum(seconds))])
    elif report.by is Grouping.BLOCKS:
        states = [row.block for row in rows]
        left = [duration_text(each.minutes_left * 60) if each and each.active else "" for each in states]
        yield (_figures("left"), [*left, ""])


def _list_own_figures(report: UsageReport, rows: list[UsageRow]) -> Iterator[_Filled]:
    own = [row.session.reported_usd if row.session else None for row in rows]
    if any(each is not None for each in own):
        yield (_figures("own figure"), [*("" if each is None else money_text(each) for each in own), ""])


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


_NARROWEST = 12
_UNITS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def _shorten_count(count: int) -> str:
    """Return a count in four characters or so."""
    for unit, name in _UNITS:
        if abs(count) >= unit:
            return f"{count / unit:.1f}{name}" if abs(count) < 100 * unit else f"{count / unit:.0f}{name}"
    return str(count)


_PATH = "--path"
_AGO = {"today": 0, "yesterday": 1}
_DAYS_AGO = re.compile(r"(\d{1,4})([dw])")


class _OwnRates(Rates, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Prices in a file of the user's, where a slip of the pen must not go unnoticed."""


class UsageCommand(click.Command):
    """A command whose `--path` takes as many names as follow it, as a shell's `*` makes them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give each name a `--path` of its own."""
        return super().parse_args(ctx, list(_spread(args)))


def _parse_day(_: click.Context, __: click.Parameter, value: str | None) -> date | int | None:
    """Return a day, or how many days ago it was."""
    if value is None or value in _AGO:
        return _AGO.get(value or "")
    if (ago := _DAYS_AGO.fullmatch(value)) is not None:
        return int(ago[1]) * (7 if ago[2] == "w" else 1)
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"expected a day such as 2026-03-01, today, yesterday or 7d (days ago), got {value!r}"
        ) from None


def _parse_limit(_: click.Context, __: click.Parameter, value: str | None) -> Limit | None:
    """Return a limit of tokens, or of dollars behind a sign."""
    if value is None:
        return None
    try:
        amount = Decimal(value.removeprefix("$"))
    except InvalidOperation:
        amount = Decimal(0)
    if not (amount.is_finite() and amount > 0):
        raise click.BadParameter(f"expected tokens such as 500000, or dollars such as $20, got {value!r}")
    return Limit(cost=round(amount * 10**12)) if value.startswith("$") else Limit(tokens=round(amount))


@click.command("usage", cls=UsageCommand)
@click.argument(
    "by",
    metavar=f"[{'|'.join(Grouping)}]",
    type=click.Choice([each.value for each in Grouping]),
    default=Grouping.DAILY.value,
    required=False,
)
@click.option(
    "--since", callback=_parse_day, metavar="DATE", help="From this day on: 2026-03-01, yesterday, 7d, 2w."
)
@click.option("--until", callback=_parse_day, metavar="DATE", help="Up to and including this day.")
@click.option(
    "--timezone",
    "zone_name",
    metavar="ZONE",
    help="The time zone of days, such as Europe/Berlin.  [default: this machine's]",
)
@click.option(
    "--breakdown", type=click.Choice([each.value for each in Breakdown]), help="What to break each row down by."
)
@click.option("--project", metavar="TEXT", help="Only projects with this text in their path.")
@click.option(
    "--limit",
    callback=_parse_limit,
    metavar="LIMIT",
    help="The limit of a block: tokens, or dollars such as $20.",
)
@click.option(
    _PATH,
    "paths",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="PATH...",
    help="Session files, or folders of them, as they are.  [default: the archive; if there is none, all "
    "sessions in CLAUDE_CONFIG_DIR, else in ~/.claude]",
)
@click.option("--no-sync", is_flag=True, help="Don't archive anything new first.")
@click.option(
    "--prices",
    "price_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='Prices of your own, in dollars per million tokens: {"model": {"input": 3, "output": 15}}.',
)
@output_options(csv=True, pager=True)
def usage_command(
    by: str,
    since: date | int | None,
    until: date | int | None,
    zone_name: str | None,
    breakdown: str | None,
    project: str | None,
    limit: Limit | None,
    paths: tuple[Path, ...],
    no_sync: bool,
    price_file: Path | None,
    output: Output,
) -> None:
    """Count tokens and cost, each answer once.

    An answer that is on several lines or in several files counts once, and sub-agents count. A note names
    answers that were recorded before completion, that have no price, or only an approximate one.

    Examples:
      turnlog usage                                  by day, all sessions of this machine
      turnlog usage monthly --breakdown model
      turnlog usage daily --since 2026-03-01 --timezone Europe/Berlin
      turnlog usage blocks --limit $50               five-hour blocks, and what is left
      turnlog usage session --path session.jsonl     one session and its sub-agents
      turnlog usage model --csv > models.csv
    """
    settings = output.settings
    if by == Grouping.TOOL and breakdown is not None:
        raise MisuseError("rows by tool cannot be broken down")
    now = datetime.now(UTC)
    zone = LOCAL if zone_name is None else _find_zone(zone_name)
    today = now.astimezone(zone).date()
    query = UsageQuery(
        zone=zone,
        zone_name=zone_name or "local",
        now=now,
        by=Grouping(by),
        breakdown=None if breakdown is None else Breakdown(breakdown),
        span=Span(_day(since, today), _day(until, today)),
        project=project,
        limit=limit,
    )
    own = None if price_file is None else _read_prices(price_file)
    if paths or not is_made(settings.place):
        report, complete, where = _report_files(settings, query, paths, own)
    else:
        report, complete, where = _report_archive(settings, query, own, no_sync), True, "the archive"
    _print(output, report)
    if not (report.rows or report.reported):
        raise NothingFoundError(_explain_nothing(report, project, where))
    if not complete:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _explain_nothing(report: UsageReport, project: str | None, where: str) -> str:
    """Say what there is none of, and which days do have answers."""
    match report.since, report.until:
        case None, None:
            days = ""
        case since, None:
            days = f" since {since}"
        case None, until:
            days = f" up to {until}"
        case since, until:
            days = f" from {since} to {until}"
    among = "" if project is None else f", in projects with {project!r} in their path"
    said = f"no answers from a model in {where}{days}{among}"
    if report.available is None:
        return said
    first, last = report.available.since, report.available.until
    return f"{said}; there are answers " + (f"on {first}" if first == last else f"from {first} to {last}")


def _report_files(
    settings: Settings, query: UsageQuery, paths: tuple[Path, ...], own: dict[str, Rates] | None
) -> tuple[UsageReport, bool, str]:
    from turnlog.cli.usage_files import FileUsage

    found = find_files(paths) if paths else find_own_files(settings.config_dirs)
    memory = QuoteMemory(settings.price_memory)
    usage = FileUsage(found, Prices(own, memory))
    report = build_report(usage, query)
    memory.save()
    return report, usage.is_complete, found.describe()


def _report_archive(
    settings: Settings, query: UsageQuery, own: dict[str, Rates] | None, no_sync: bool
) -> UsageReport:
    from turnlog.store.model import LOCAL as OWNER
    from turnlog.store.opening import open_store

    if not no_sync:
        from turnlog.cli.sync import refresh

        refresh(settings)
    with closing(open_store(settings.place, read_only=True)) as store:
        if own is None:
            return build_report(store.read_usage(OWNER), query)
        from turnlog.store.usage_recount import RecountedUsage

        prices = Prices(own, QuoteMemory(settings.price_memory))
        return build_report(RecountedUsage(store, OWNER, prices), query)


def _print(output: Output, report: UsageReport) -> None:
    if output.as_json:
        output.print_json(report)
    elif output.as_csv:
        output.print_csv(render_usage_csv(report))
    elif report.rows or report.reported:
        output.print(render_usage(report, output.width, output.has_color))


def _day(asked: date | int | None, today: date) -> date | None:
    return today - timedelta(days=asked) if isinstance(asked, int) else asked


def _find_zone(name: str) -> tzinfo:
    try:
        return find_zone(name)
    except ValueError as error:
        raise MisuseError(str(error)) from error


def _read_prices(path: Path) -> dict[str, Rates]:
    try:
        own: dict[str, Rates] = {**msgspec.json.decode(path.read_bytes(), type=dict[str, _OwnRates])}
        Prices(own)
    except ValueError as error:  # not JSON, not such an object, or not an amount
        raise MisuseError(f"{path_text(path)}: {error}") from error
    return own


def _spread(args: list[str]) -> Iterator[str]:
    greedy = False
    for at, arg in enumerate(args):
        if arg == "--":
            yield from args[at:]
            return
        if arg.startswith("-") and arg != "-":
            greedy = arg == _PATH
            if not greedy:
                yield arg
        elif greedy and not _is_grouping(arg):
            yield from (_PATH, arg)
        else:
            yield arg
    if greedy and args[-1] == _PATH:
        yield _PATH


def _is_grouping(arg: str) -> bool:
    return arg in Grouping.__members__.values() and not os.path.exists(arg)
