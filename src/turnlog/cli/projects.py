"""`turnlog projects`: where sessions ran, and what came of it together."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from turnlog.cli.failures import NothingFoundError
from turnlog.cli.files import warn
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output
from turnlog.cli.rendering.projects import build_projects, render_projects, render_projects_csv
from turnlog.cli.stores import open_for
from turnlog.cli.terminal import clean
from turnlog.config import Settings
from turnlog.store.lists import ProjectOrder
from turnlog.store.model import LOCAL


@click.command(
    "projects",
    epilog="""\b
Examples:
  turnlog projects                 the one with the newest session first
  turnlog projects --sort cost
  turnlog projects tea --json
""",
)
@click.argument("text", required=False)
@click.option(
    "--sort",
    type=click.Choice([order.value for order in ProjectOrder]),
    default=ProjectOrder.NEWEST.value,
    show_default=True,
    help="The order of the rows.",
)
@click.option(
    "--limit", type=click.IntRange(0), default=0, help="How many at most.  [default: 0, for all of them]"
)
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@color_option
@pager_option
def command(
    text: str | None,
    sort: str,
    limit: int,
    as_json: bool,
    as_csv: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """List archived projects: their sessions, when they ran, and what they used.

    TEXT is a part of their paths. Sessions that were put away count. A session that continues another one
    also has its answers; `turnlog usage` counts each answer once.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv cannot be used together.", click.get_current_context())
    settings = Settings.from_env()
    output = Output(settings, color, pager)
    with open_for(settings) as store:
        found = store.list_projects(LOCAL, text=text, order=ProjectOrder(sort))
    shown = found[: limit or None]
    if as_json:
        output.print_json(build_projects(shown))
    elif as_csv:
        table = render_projects_csv(shown)
        output.print_bytes([(clean(table) if output.is_terminal else table).encode("utf-8", "replace")])
    elif shown:
        width, now = (output.width, datetime.now(UTC)) if output.is_terminal else (None, None)
        output.print(render_projects(shown, width, now, color=output.has_color))
    if not found:
        raise NothingFoundError("no such project is archived")
    if len(shown) < len(found) and not as_json:
        warn(f"{len(shown):,} of {len(found):,} projects; use --limit 0 to list all")
