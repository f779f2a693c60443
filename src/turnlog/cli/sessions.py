"""`turnlog sessions`: the archived sessions as a list."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import click
from msgspec.structs import replace

from turnlog.cli.completing import complete_machines, complete_sessions, complete_users
from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.files import warn
from turnlog.cli.machine_names import find_machines
from turnlog.cli.moments import parse_moment
from turnlog.cli.options import color_option, json_option, pager_option
from turnlog.cli.output import Output
from turnlog.cli.rendering.sessions import build_sessions, render_sessions, render_sessions_csv
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import clean
from turnlog.config import Settings
from turnlog.store.interface import CaredStore
from turnlog.store.lists import SessionFilter, SessionOrder, SessionPage
from turnlog.store.model import LOCAL, Visibility

_ALL = 1 << 31


@click.command(
    "sessions",
    epilog="""\b
Examples:
  turnlog sessions                           the newest
  turnlog sessions parser --since 7d         with "parser" in the title, from the last week
  turnlog sessions --project . --sort cost   in this folder and below it, the most expensive first
  turnlog sessions --starred --tag bug
  turnlog sessions --person ben --visibility team
  turnlog sessions --only-here --limit 0 --csv > gone.csv
  turnlog sessions --like 0f3c2a91           those that a program started with the same prompt
""",
)
@click.argument("text", required=False)
@click.option(
    "--project",
    metavar="TEXT|PATH",
    help="In a project: a part of its path, or a folder and everything below it.",
)
@click.option("--session", metavar="ID", help="The beginning of a session's id.")
@click.option("--model", metavar="TEXT", help="That used a model: a part of its name is enough.")
@click.option("--branch", metavar="TEXT", help="On a git branch: a part of its name is enough.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="With this tag; may be repeated to require several."
)
@click.option(
    "--person",
    "persons",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_users,
    help="Owned by this person; may be repeated to allow several. An empty NAME stands for nobody.",
)
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_machines,
    help="From this machine: its host, or the beginning of its name; may be repeated to allow several.",
)
@click.option(
    "--visibility",
    type=click.Choice([each.value for each in Visibility]),
    help="Shared with the team, or private.",
)
@click.option("--starred/--not-starred", default=None, help="With a star, or without.")
@click.option("--archived", is_flag=True, help="Only those that were put away (`turnlog mark --archive`).")
@click.option("--all", "with_archived", is_flag=True, help="Include those that were put away.")
@click.option(
    "--only-here/--still-there",
    default=None,
    help="Whose files no longer exist outside the archive, or still do.",
)
@click.option(
    "--since", metavar="TIME", help="Active at this time or later: 2026-03-01, 2026-03-01T14:00, 7d, 12h."
)
@click.option("--until", metavar="TIME", help="Active at this time or before; a day counts to its end.")
@click.option(
    "--errors/--no-errors", default=None, help="In which calls or requests failed, or in which none did."
)
@click.option("--problems/--no-problems", default=None, help="With something wrong in the data, or without.")
@click.option(
    "--like",
    metavar="ID",
    shell_complete=complete_sessions,
    help="Those that a program started with the same prompt as this one, each on its own row.",
)
@click.option(
    "--grouped/--ungrouped",
    default=None,
    help="Show three or more that a program started with the same prompt as one row, or every session. "
    "Default: grouped; with --json, --csv or --like, ungrouped.",
)
@click.option(
    "--sort",
    type=click.Choice([order.value for order in SessionOrder]),
    default=SessionOrder.NEWEST.value,
    show_default=True,
    help="The order of the rows.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    help="How many at once; 0 for all of them.",
)
@click.option(
    "--after", "cursor", metavar="CURSOR", help="Continue after a page, from the CURSOR shown at its end."
)
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@color_option
@pager_option
def command(
    sort: str,
    limit: int,
    cursor: str | None,
    as_json: bool,
    as_csv: bool,
    color: bool | None,
    pager: bool | None,
    like: str | None,
    grouped: bool | None,
    **asked: Any,
) -> None:
    """List archived sessions.

    TEXT is a part of their titles, or of the names that you gave them. Those that were put away are left out,
    unless you ask for them. The ids that are shown are long enough for `turnlog show`.

    Sessions that a program started again and again with the same prompt share one row; `--like` lists them
    all.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv cannot be used together.", click.get_current_context())
    settings = Settings.from_env()
    output = Output(settings, color, pager)
    with open_for(settings) as store:
        wanted = _build_filter(machines=_find_origins(store, asked.pop("machines")), **asked)
        if like is not None:
            wanted = _find_alike(store, wanted, like)
        if grouped is None:
            grouped = like is None and not as_json and not as_csv
        page = store.list_sessions(
            LOCAL, wanted, order=SessionOrder(sort), limit=limit or _ALL, cursor=cursor, grouped=grouped
        )
    if as_json:
        output.print_json(build_sessions(page))
    elif as_csv:
        text = render_sessions_csv(page)
        output.print_bytes([(clean(text) if output.is_terminal else text).encode("utf-8", "replace")])
    elif page.sessions:
        width, now = (output.width, datetime.now(UTC)) if output.is_terminal else (None, None)
        output.print(render_sessions(page, width, now, color=output.has_color))
    _say_more(page, as_json)


def _say_more(page: SessionPage, as_json: bool) -> None:
    if not page.total:
        raise NothingFoundError("no such session is archived")
    if as_json:
        return
    if any(session.alike > 1 for session in page.sessions):
        warn("sessions that a program started with the same prompt are one row; --like ID lists them")
    if page.next is not None:
        what = "sessions" if page.rows == page.total else f"rows with {page.total:,} sessions"
        shown = f"{len(page.sessions):,} of {page.rows:,} {what}"
        warn(f"{shown}; use --limit 0 to list all, or --after {page.next} to continue")


def _build_filter(
    text: str | None,
    project: str | None,
    archived: bool,
    with_archived: bool,
    since: str | None,
    until: str | None,
    visibility: str | None,
    **others: Any,
) -> SessionFilter:
    if archived and with_archived:
        raise click.UsageError("--archived and --all cannot be used together.", click.get_current_context())
    is_path = project is not None and (project in (".", "..") or os.sep in project or project.startswith("~"))
    return SessionFilter(
        text=text,
        under=os.path.abspath(os.path.expanduser(project or "")) if is_path else None,
        project_text=None if is_path else project,
        archived=None if with_archived else archived,
        since=None if since is None else _read_time("--since", since, ending=False),
        until=None if until is None else _read_time("--until", until, ending=True),
        visibility=None if visibility is None else Visibility(visibility),
        **others,
    )


def _find_alike(store: CaredStore, wanted: SessionFilter, prefix: str) -> SessionFilter:
    """Return a filter for the sessions like one."""
    session, _ = find_session(store, prefix)
    if session.row.series is None:
        raise NothingFoundError(f"{prefix} was not started by a program, so there are no sessions like it")
    if wanted.persons and (session.person or "") not in wanted.persons:
        raise NothingFoundError("no such session is archived")
    return replace(wanted, series=session.row.series, persons=(session.person or "",))


def _find_origins(store: CaredStore, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the machines that names stand for."""
    if not names:
        return ()
    known = store.list_machines(LOCAL)
    found = [machine.origin for name in names for machine in find_machines(known, name)]
    if not found:
        raise NothingFoundError(f"no machine is called or begins with {', '.join(names)}")
    return tuple(dict.fromkeys(found))


def _read_time(option: str, text: str, *, ending: bool) -> int:
    """Return a time in microseconds since 1970."""
    try:
        return parse_moment(text, ending=ending)
    except (ValueError, OverflowError) as error:
        raise MisuseError(f"{option}: {error}") from error
