"""`turnlog usage`: tokens and money."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from pathlib import Path

import click
import msgspec

from turnlog.cli.clock import LOCAL
from turnlog.cli.failures import FOUND_PROBLEMS, MisuseError, NothingFoundError
from turnlog.cli.files import find_files, find_own_files
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output
from turnlog.cli.terminal import clean
from turnlog.config import Settings
from turnlog.store.places import is_made
from turnlog.store.usage.building import Limit, UsageQuery, build_report
from turnlog.store.usage.cells import Span, find_zone
from turnlog.store.usage.report import Breakdown, Grouping, UsageReport
from turnlog.transcripts.files.session_files import path_text
from turnlog.transcripts.usage.prices import Prices, QuoteMemory, Rates

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


@click.command(
    "usage",
    cls=UsageCommand,
    epilog="""\b
Examples:
  turnlog usage                                  by day, all sessions of this machine
  turnlog usage monthly --breakdown model
  turnlog usage daily --since 2026-03-01 --timezone Europe/Berlin
  turnlog usage blocks --limit $50               five-hour blocks, and what is left
  turnlog usage session --path session.jsonl     one session and its sub-agents
  turnlog usage model --csv > models.csv
""",
)
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
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@color_option
@pager_option
def command(
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
    as_json: bool,
    as_csv: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """Count tokens and cost, each answer once.

    An answer that is on several lines or in several files counts once, and sub-agents count. A note names
    answers that were recorded before completion, that have no price, or only an approximate one.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager)
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
    _print(output, report, as_json, as_csv)
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
        from turnlog.cli.refreshing import refresh

        refresh(settings)
    with closing(open_store(settings.place, read_only=True)) as store:
        if own is None:
            return build_report(store.read_usage(OWNER), query)
        from turnlog.store.usage.recounting import RecountedUsage

        prices = Prices(own, QuoteMemory(settings.price_memory))
        return build_report(RecountedUsage(store, OWNER, prices), query)


def _print(output: Output, report: UsageReport, as_json: bool, as_csv: bool) -> None:
    if as_json:
        output.print_json(report)
    elif as_csv:
        from turnlog.cli.rendering.usage import render_csv

        text = render_csv(report)
        output.print_bytes([(clean(text) if output.is_terminal else text).encode("utf-8", "replace")])
    elif report.rows or report.reported:
        from turnlog.cli.rendering.usage import render_usage

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
