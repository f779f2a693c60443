"""`turnlog sessions`, `projects` and `mark`: sessions and projects in lists, and marking them.

A list is a table for people, CSV for spreadsheets, and a document for programs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from os.path import expanduser
from typing import Any

import click
from msgspec import UNSET, Struct
from msgspec.structs import astuple, replace

from turnlog.cli import plain_text
from turnlog.cli.completion import complete_machines, complete_sessions, complete_tags, complete_users
from turnlog.cli.output import Output, choice_option, output_options
from turnlog.cli.stores import find_machines, find_session, open_archive, shorten_ids
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean, clean_line, warn
from turnlog.instants import find_moment
from turnlog.shapes import fill
from turnlog.store import lists
from turnlog.store.interface import MaintainedStore, find_sessions
from turnlog.store.model import LOCAL, Visibility
from turnlog.transcripts.session_files import path_text

_SESSION_COLUMNS = (
    plain_text.Column("id", dim=True),
    plain_text.Column("title", least=16),
    plain_text.Column("project", least=8, dim=True, tail=True, optional=1),
    plain_text.Column("when", right=True),
    plain_text.Column("length", right=True, optional=4),
    plain_text.Column("messages", right=True, optional=3),
    plain_text.Column("cost", right=True, optional=2),
)


_BEHIND_TITLE = 2
"""Where columns stand that only some lists have: persons, and how many sessions are like one."""


class SessionItem(Struct, frozen=True, gc=False, kw_only=True):
    """A session in a list."""

    id: str | None
    key: str
    """By which the archive knows it, which is unique."""
    title: str | None
    name: str | None
    """One's own."""
    tags: tuple[str, ...]
    starred: bool
    archived: bool
    note: str | None
    project: str | None
    path: str
    """Where its transcript was last seen."""
    only_here: bool
    """Whether none of its files is still outside."""
    copied_from: str | None
    """The key of the session that it began as a copy of."""
    person: str | None
    """Whose it is, as far as anybody said."""
    machine: str
    """The origin of the machine that it comes from."""
    visibility: Visibility
    """Whether the team sees it."""
    first_time: datetime | None
    last_time: datetime | None
    duration_s: float | None
    models: tuple[str, ...]
    branches: tuple[str, ...]
    messages: int
    prompts: int
    answers: int
    calls: int
    agents: int
    lines: int
    errors: int
    """Calls and requests that failed."""
    problems: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    is_floor: bool
    """Whether it cost more: answers were recorded before their end, or have no price."""
    is_estimate: bool
    """Whether some of it is priced as if served the standard way."""
    series: str | None
    """The same for all sessions of a project that programs started with the same prompt; null for others."""
    alike: int
    """With `--grouped`, how many sessions like this there are, itself included; else 1."""


class SessionsDocument(Struct, frozen=True, gc=False):
    """What `turnlog sessions --json` prints."""

    sessions: tuple[SessionItem, ...]
    next: str | None
    """What `--after` takes for the next page; null if this is the last."""
    total: int
    """How many sessions there are in all pages."""
    rows: int
    """How many rows there are in all pages: fewer, where groups are one."""


def _build_item(stored: lists.StoredSession) -> SessionItem:
    """Return a session as a document has it."""
    row = stored.row
    duration = None if row.first_time is None or row.last_time is None else row.last_time - row.first_time
    return fill(
        SessionItem,
        row,
        stored,
        stored.marks,
        id=None if row.session_id is None else path_text(row.session_id),
        project=None if row.project is None else path_text(row.project),
        path=path_text(stored.path),
        machine=stored.origin,
        first_time=find_moment(row.first_time),
        last_time=find_moment(row.last_time),
        duration_s=None if duration is None else duration / 1e6,
        cost_usd=None if row.cost is None else Decimal(row.cost),
    )


def _print_sessions(output: Output, items: Sequence[SessionItem]) -> None:
    """Print a table of sessions; in a pipe, ids and paths are whole."""
    names = shorten_ids((item.key, item.id) for item in items) if output.is_terminal else {}
    home = expanduser("~") if output.is_terminal else None
    rows = [list(_session_cells(item, names.get(item.key), home, output.now)) for item in items]
    columns = [*_SESSION_COLUMNS]
    # If nobody has said whose anything is, it is one person's archive.
    for is_shown, column, cell in (
        (any(item.person for item in items), plain_text.Column("person"), _whose_cell),
        (any(item.alike > 1 for item in items), plain_text.Column("like this", right=True), _alike_cell),
    ):
        if is_shown:
            columns.insert(_BEHIND_TITLE, column)
            for row, item in zip(rows, items, strict=True):
                row.insert(_BEHIND_TITLE, cell(item))
    plain_text.print_table(output, columns, rows)


def _session_cells(
    item: SessionItem, name: str | None, home: str | None, now: datetime | None
) -> Iterator[str]:
    yield clean_line(item.id or item.key) if name is None else name
    yield plain_text.marks_text(fill(lists.Marks, item), item.title or "(no title)")
    yield plain_text.place_text(item.project, home)
    yield plain_text.time_cell(item.last_time, now)
    duration = plain_text.duration_text if now is None else plain_text.length_text
    yield "" if item.duration_s is None else duration(item.duration_s)
    yield f"{item.messages:,}"
    mark = "≈" if item.is_estimate else "≥" if item.is_floor else ""
    yield ("" if item.cost_usd is None else mark) + plain_text.money_cell(
        item.cost_usd, unpriced=item.answers > 0
    )


def _whose_cell(item: SessionItem) -> str:
    """Return whose a session is, with a mark if the team sees it."""
    return f"{clean_line(item.person or '')}{'+' if item.visibility is Visibility.TEAM else ''}"


def _alike_cell(item: SessionItem) -> str:
    return f"{item.alike:,} sessions" if item.alike > 1 else ""


_PROJECT_COLUMNS = (
    plain_text.Column("project", least=16, tail=True),
    plain_text.Column("sessions", right=True),
    plain_text.Column("only here", right=True, optional=4),
    plain_text.Column("first", right=True, dim=True, optional=6),
    plain_text.Column("last", right=True),
    plain_text.Column("prompts", right=True, optional=5),
    plain_text.Column("answers", right=True, optional=3),
    plain_text.Column("tokens in", right=True, optional=2),
    plain_text.Column("out", right=True, optional=2),
    plain_text.Column("cost", right=True, optional=1),
)


class ProjectItem(Struct, frozen=True, gc=False, kw_only=True):
    """A project in a list: all of its sessions together."""

    project: str | None
    sessions: int
    only_here: int
    """Sessions of which no file is still outside."""
    archived: int
    """Hidden sessions (`turnlog mark --archive`)."""
    first_time: datetime | None
    last_time: datetime | None
    prompts: int
    answers: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    unpriced: int
    """Sessions that the cost leaves out."""


def _build_projects(projects: Sequence[lists.StoredProject]) -> tuple[ProjectItem, ...]:
    """Return projects as a document has them."""
    return tuple(
        fill(
            ProjectItem,
            each,
            project=None if each.path is None else path_text(each.path),
            first_time=find_moment(each.first_time),
            last_time=find_moment(each.last_time),
            cost_usd=each.cost,
        )
        for each in projects
    )


def _project_cells(item: ProjectItem, home: str | None, now: datetime | None) -> Iterator[str]:
    yield plain_text.place_text(item.project, home) or "(no project)"
    yield f"{item.sessions:,}"
    yield f"{item.only_here:,}"
    yield plain_text.time_cell(item.first_time, now)
    yield plain_text.time_cell(item.last_time, now)
    yield f"{item.prompts:,}"
    yield f"{item.answers:,}"
    yield _tokens_text(item.input_tokens, now)
    yield _tokens_text(item.output_tokens, now)
    floor = "≥" if item.unpriced and item.cost_usd is not None else ""
    yield floor + plain_text.money_cell(item.cost_usd, unpriced=item.answers > 0)


def _tokens_text(count: int, now: datetime | None) -> str:
    """Return a number of tokens: where there is little room, roughly."""
    for unit, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if now is not None and count >= unit:
            return f"{count / unit:.1f} {letter}"
    return f"{count:,}"


_ALL = 1 << 31


@click.command("sessions")
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
@click.option("--archived", is_flag=True, help="Only hidden ones (`turnlog mark --archive`).")
@click.option("--all", "with_archived", is_flag=True, help="Include hidden ones.")
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
@choice_option("--sort", default=lists.SessionOrder.NEWEST, help="The order of the rows.")
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
@output_options(csv=True, pager=True)
def sessions_command(
    sort: str,
    limit: int,
    cursor: str | None,
    output: Output,
    like: str | None,
    grouped: bool | None,
    **asked: Any,
) -> None:
    """List archived sessions.

    TEXT is a part of their titles, or of the names that you gave them. Hidden ones (`turnlog mark --archive`)
    are left out, unless you ask for them. The ids that are shown are long enough for `turnlog show`.

    Sessions that a program started again and again with the same prompt share one row; `--like` lists them
    all.

    Examples:
      turnlog sessions                           the newest
      turnlog sessions parser --since 7d         with "parser" in the title, from the last week
      turnlog sessions --project . --sort cost   in this folder and below it, the most expensive first
      turnlog sessions --starred --tag bug
      turnlog sessions --person ben --visibility team
      turnlog sessions --only-here --limit 0 --csv > gone.csv
      turnlog sessions --like 0f3c2a91           those that a program started with the same prompt
    """
    if output.as_json and output.as_csv:
        raise click.UsageError("--json and --csv cannot be used together.", click.get_current_context())
    with open_archive(output.settings) as store:
        wanted = _build_filter(machines=_find_origins(store, asked.pop("machines")), **asked)
        if like is not None:
            wanted = _find_alike(store, wanted, like)
        if grouped is None:
            grouped = like is None and not output.as_json and not output.as_csv
        page = store.list_sessions(
            LOCAL, wanted, order=lists.SessionOrder(sort), limit=limit or _ALL, cursor=cursor, grouped=grouped
        )
    items = tuple(map(_build_item, page.sessions))
    if output.as_json:
        output.print_json(SessionsDocument(items, page.next, page.total, page.rows))
    elif output.as_csv:
        output.print_csv(plain_text.render_csv(SessionItem.__struct_fields__, map(astuple, items)))
    elif items:
        _print_sessions(output, items)
    _print_next(page, output.as_json)


def _print_next(page: lists.SessionPage, as_json: bool) -> None:
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
) -> lists.SessionFilter:
    if archived and with_archived:
        raise click.UsageError("--archived and --all cannot be used together.", click.get_current_context())
    is_path = project is not None and (project in (".", "..") or os.sep in project or project.startswith("~"))
    return lists.SessionFilter(
        text=text,
        under=os.path.abspath(os.path.expanduser(project or "")) if is_path else None,
        project_text=None if is_path else project,
        archived=None if with_archived else archived,
        since=None if since is None else plain_text.read_time("--since", since),
        until=None if until is None else plain_text.read_time("--until", until, ending=True),
        visibility=None if visibility is None else Visibility(visibility),
        **others,
    )


def _find_alike(store: MaintainedStore, wanted: lists.SessionFilter, prefix: str) -> lists.SessionFilter:
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


@click.command("projects")
@click.argument("text", required=False)
@choice_option("--sort", default=lists.ProjectOrder.NEWEST, help="The order of the rows.")
@click.option(
    "--limit", type=click.IntRange(0), default=0, help="How many at most.  [default: 0, for all of them]"
)
@output_options(csv=True, pager=True)
def projects_command(
    text: str | None,
    sort: str,
    limit: int,
    output: Output,
) -> None:
    """List archived projects, and what they used.

    TEXT is a part of their paths. Hidden sessions count, too. A session that continues another one
    also has its answers; `turnlog usage` counts each answer once.

    Examples:
      turnlog projects                 the one with the newest session first
      turnlog projects --sort cost
      turnlog projects tea --json
    """
    if output.as_json and output.as_csv:
        raise click.UsageError("--json and --csv cannot be used together.", click.get_current_context())
    with open_archive(output.settings) as store:
        found = store.list_projects(LOCAL, text=text, order=lists.ProjectOrder(sort))
    shown = found[: limit or None]
    items = _build_projects(shown)
    if output.as_json:
        output.print_json(items)
    elif output.as_csv:
        output.print_csv(plain_text.render_csv(ProjectItem.__struct_fields__, map(astuple, items)))
    elif items:
        home = expanduser("~") if output.is_terminal else None
        plain_text.print_table(
            output, _PROJECT_COLUMNS, (_project_cells(item, home, output.now) for item in items)
        )
    if not found:
        raise NothingFoundError("no such project is archived")
    if len(shown) < len(found) and not output.as_json:
        warn(f"{len(shown):,} of {len(found):,} projects; use --limit 0 to list all")


class MarkItem(Struct, frozen=True, gc=False, kw_only=True):
    """A session as `turnlog mark --json` prints it."""

    id: str | None
    key: str
    title: str | None
    changed: bool
    marks: lists.Marks


@click.command("mark")
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
@click.option("--archive/--no-archive", default=None, help="Hide it from lists, or show it again.")
@click.option("--undo", is_flag=True, help="Undo the last change; repeat it to undo earlier ones.")
@output_options()
def mark_command(
    sessions: tuple[str, ...],
    star: bool | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    name: str | None,
    note: str | None,
    archive: bool | None,
    undo: bool,
    output: Output,
) -> None:
    """Give sessions names, tags, stars and notes of your own.

    ID may be the beginning of a session's id, or of the name that you gave it. Marks are stored separately
    from what was read, and nothing outside the archive is touched. Without any option, the marks are only
    shown.

    Examples:
      turnlog mark 5d1c --star --tag bug --name "The parser that ate newlines"
      turnlog mark 5d1c 77e0 --archive          leave them out of lists
      turnlog mark 5d1c --note "Why it was slow: see the second turn"
      turnlog mark 5d1c --name ""               go back to the original title
      turnlog mark --undo                       undo the last of these
    """
    change = lists.MarkChange(
        name=UNSET if name is None else name,
        note=UNSET if note is None else note,
        starred=UNSET if star is None else star,
        archived=UNSET if archive is None else archive,
        tags=tags,
        untags=untags,
    )
    if undo and (sessions or change != lists.MarkChange()):
        raise MisuseError("--undo undoes the last change, and cannot be combined with anything else")
    if not undo and not sessions:
        raise MisuseError("name the sessions to mark, or --undo alone")
    with open_archive(output.settings, writing=undo or change != lists.MarkChange(), existing=True) as store:
        items = _undo_marks(store) if undo else _change_marks(store, sessions, change)
    output.show(items, (line for item in items for line in _describe_change(item)))


def _change_marks(
    store: MaintainedStore, prefixes: tuple[str, ...], change: lists.MarkChange
) -> list[MarkItem]:
    found = {stored.key: stored for stored, _ in (find_session(store, prefix) for prefix in prefixes)}
    done = (
        {}
        if change == lists.MarkChange()
        else {each.key: each.after for each in store.mark(LOCAL, [*found], change)}
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
    yield f"{clean_line(item.id or item.key)}  {plain_text.marks_text(item.marks, item.title or '(no title)')}"
    if item.marks.note is not None:
        yield from (f"  {line}" for line in clean(item.marks.note).split("\n"))
