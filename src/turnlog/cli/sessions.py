"""`turnlog sessions`, `projects` and `mark`: finding sessions in lists, and marking them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click
from msgspec import UNSET, Struct
from msgspec.structs import replace

from turnlog.cli.completion import complete_machines, complete_sessions, complete_tags, complete_users
from turnlog.cli.files import warn
from turnlog.cli.output import Output, color_option, json_option, pager_option
from turnlog.cli.session_lists import (
    build_projects,
    build_sessions,
    marks_text,
    render_projects,
    render_projects_csv,
    render_sessions,
    render_sessions_csv,
)
from turnlog.cli.stores import find_machines, find_session, open_for
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean, clean_line
from turnlog.cli.units import parse_moment
from turnlog.config import Settings
from turnlog.store.interface import MaintainedStore, find_sessions
from turnlog.store.lists import MarkChange, Marks, ProjectOrder, SessionFilter, SessionOrder, SessionPage
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
def sessions_command(
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


def _find_alike(store: MaintainedStore, wanted: SessionFilter, prefix: str) -> SessionFilter:
    """Return a filter for the sessions like one."""
    session, _ = find_session(store, prefix)
    if session.row.series is None:
        raise NothingFoundError(f"{prefix} was not started by a program, so there are no sessions like it")
    if wanted.persons and (session.person or "") not in wanted.persons:
        raise NothingFoundError("no such session is archived")
    return replace(wanted, series=session.row.series, persons=(session.person or "",))


def _find_origins(store: MaintainedStore, names: tuple[str, ...]) -> tuple[str, ...]:
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
def projects_command(
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


class MarkItem(Struct, frozen=True, gc=False, kw_only=True):
    """A session as `turnlog mark --json` prints it."""

    id: str | None
    key: str
    title: str | None
    changed: bool
    marks: Marks


@click.command(
    "mark",
    epilog="""\b
Examples:
  turnlog mark 5d1c --star --tag bug --name "The parser that ate newlines"
  turnlog mark 5d1c 77e0 --archive          leave them out of lists
  turnlog mark 5d1c --note "Why it was slow: see the second turn"
  turnlog mark 5d1c --name ""               go back to the original title
  turnlog mark --undo                       undo the last of these
""",
)
@click.argument("sessions", metavar="[ID]...", nargs=-1, shell_complete=complete_sessions)
@click.option("--star/--no-star", default=None, help="Add or remove a star.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    shell_complete=complete_tags,
    help="Add a tag; may be repeated.",
)
@click.option(
    "--untag", "untags", multiple=True, metavar="TAG", shell_complete=complete_tags, help="Remove a tag."
)
@click.option("--name", metavar="TEXT", help="Give it a name; an empty TEXT removes it.")
@click.option("--note", metavar="TEXT", help="Add a note; an empty TEXT removes it.")
@click.option("--archive/--no-archive", default=None, help="Put it away, hidden from lists, or bring it back.")
@click.option("--undo", is_flag=True, help="Undo the last change; repeat it to undo earlier ones.")
@json_option
@color_option
def mark_command(
    sessions: tuple[str, ...],
    star: bool | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    name: str | None,
    note: str | None,
    archive: bool | None,
    undo: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Mark sessions with your own names, tags, stars and notes.

    ID may be the beginning of a session's id, or of the name that you gave it. Marks are stored separately
    from what was read, and nothing outside the archive is touched. Without any option, the marks are only
    shown.
    """
    change = MarkChange(
        name=UNSET if name is None else name,
        note=UNSET if note is None else note,
        starred=UNSET if star is None else star,
        archived=UNSET if archive is None else archive,
        tags=tags,
        untags=untags,
    )
    if undo and (sessions or change != MarkChange()):
        raise MisuseError("--undo undoes the last change, and cannot be combined with anything else")
    if not undo and not sessions:
        raise MisuseError("name the sessions to mark, or --undo alone")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with open_for(settings, writing=undo or change != MarkChange(), existing=True) as store:
        items = _undo_marks(store) if undo else _change_marks(store, sessions, change)
    if as_json:
        output.print_json(items)
    else:
        output.print(line for item in items for line in _describe_change(item))


def _change_marks(store: MaintainedStore, prefixes: tuple[str, ...], change: MarkChange) -> list[MarkItem]:
    found = {stored.key: stored for stored, _ in (find_session(store, prefix) for prefix in prefixes)}
    done = (
        {} if change == MarkChange() else {each.key: each.after for each in store.mark(LOCAL, [*found], change)}
    )
    return [
        MarkItem(
            id=stored.row.session_id,
            key=key,
            title=stored.row.title,
            changed=key in done,
            marks=done.get(key, stored.marks),
        )
        for key, stored in found.items()
    ]


def _undo_marks(store: MaintainedStore) -> list[MarkItem]:
    undone = store.undo_mark(LOCAL)
    if not undone:
        raise NothingFoundError("there is no change to undo")
    items = []
    for each in undone:
        [stored] = [found for found in find_sessions(store, LOCAL, each.key) if found.key == each.key]
        row = stored.row
        items.append(MarkItem(id=row.session_id, key=each.key, title=row.title, changed=True, marks=each.after))
    return items


def _describe_change(item: MarkItem) -> Iterator[str]:
    yield f"{clean_line(item.id or item.key)}  {marks_text(item.marks, item.title or '(no title)')}"
    if item.marks.note is not None:
        yield from (f"  {line}" for line in clean(item.marks.note).split("\n"))
