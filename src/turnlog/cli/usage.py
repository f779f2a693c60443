"""`turnlog usage`: tokens and money."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click
import msgspec

from turnlog.cli.failures import FOUND_PROBLEMS, MisuseError, NothingFoundError, explain
from turnlog.cli.files import Found, find_files, find_own_files, path_text, warn
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output
from turnlog.cli.progress import track
from turnlog.cli.rendering.usage import render_csv, render_usage
from turnlog.cli.terminal import clean
from turnlog.cli.usage_report import GROUPINGS, Grouping, build_report
from turnlog.config import Settings
from turnlog.transcripts.files.reader import read_lines
from turnlog.transcripts.usage.fold import UsageFold
from turnlog.transcripts.usage.pricing import Prices, Rates

__all__ = ["UsageCommand", "command"]

_PATH = "--path"


class _OwnRates(Rates, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Prices in a file of the user's, where a slip of the pen must not go unnoticed."""


class UsageCommand(click.Command):
    """A command whose `--path` takes as many names as follow it, as a shell's `*` makes them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give each name a `--path` of its own."""
        return super().parse_args(ctx, list(_spread(args)))


@click.command(
    "usage",
    cls=UsageCommand,
    epilog="""\b
Examples:
  turnlog usage                              all sessions of this machine
  turnlog usage --path session.jsonl         one session and its sub-agents
  turnlog usage --path *.jsonl --by session
  turnlog usage --by day --csv > days.csv
""",
)
@click.option(
    _PATH,
    "paths",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="PATH...",
    help="Session files, or folders of them.  [default: all sessions in CLAUDE_CONFIG_DIR, else in ~/.claude]",
)
@click.option(
    "--by", type=click.Choice(GROUPINGS), default="model", show_default=True, help="What makes a row."
)
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
    paths: tuple[Path, ...],
    by: str,
    price_file: Path | None,
    as_json: bool,
    as_csv: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """Count tokens and money, each answer once.

    An answer that stands on several lines or in several files counts once, and sub-agents count. What was
    recorded before its end, has no price or only about the right one is named.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager)
    prices = _read_prices(price_file) if price_file else Prices()
    found = find_files(paths, with_agents=True) if paths else find_own_files(settings.config_dirs)
    fold, complete = _read(found)
    report = build_report(fold, prices, cast("Grouping", by), len(found.paths))
    if as_json:
        output.print_json(report)
    elif as_csv:
        text = render_csv(report)
        output.print_bytes([(clean(text) if output.is_terminal else text).encode("utf-8", "replace")])
    elif report.rows or report.reported:
        output.print(render_usage(report))
    if not (report.rows or report.reported):
        raise NothingFoundError(f"no answers of a model in {found.describe()}")
    if not complete:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _read(found: Found) -> tuple[UsageFold, bool]:
    """Read all files; what cannot be read is said, and makes the figures incomplete."""
    fold, complete = UsageFold(), not found.obstacles
    for path in track(found.paths, "Reading sessions"):
        try:
            for line in read_lines(path, source=path_text(path)):
                fold.add(line)
        except OSError as error:
            warn(explain(error))
            complete = False
    return fold, complete


def _read_prices(path: Path) -> Prices:
    try:
        return Prices({**msgspec.json.decode(path.read_bytes(), type=dict[str, _OwnRates])})
    except ValueError as error:  # not JSON, not such an object, or not an amount
        raise MisuseError(f"{path_text(path)}: {error}") from error


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
        elif greedy:
            yield from (_PATH, arg)
        else:
            yield arg
    if greedy and args[-1] == _PATH:
        yield _PATH
