"""Lists of sessions and of projects: as a table, as CSV, and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from os.path import expanduser

from msgspec import Struct
from msgspec.structs import astuple

from turnlog.cli.stores import shorten_ids
from turnlog.cli.tables import Column, render_csv, render_table
from turnlog.cli.terminal import clean_line, shorten
from turnlog.cli.units import age_text, cents_text, duration_text, length_text, local_time
from turnlog.instants import find_moment
from turnlog.store.lists import Marks, SessionPage, StoredProject, StoredSession
from turnlog.store.model import Visibility
from turnlog.transcripts.files.session_files import path_text

_LONGEST_TITLE = 200
_SESSION_COLUMNS = (
    Column("id", dim=True),
    Column("title", least=16),
    Column("project", least=8, dim=True, tail=True, optional=1),
    Column("when", right=True),
    Column("length", right=True, optional=4),
    Column("messages", right=True, optional=3),
    Column("cost", right=True, optional=2),
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


def build_sessions(page: SessionPage) -> SessionsDocument:
    """Return a page as a document."""
    return SessionsDocument(tuple(map(build_item, page.sessions)), page.next, page.total, page.rows)


def build_item(stored: StoredSession) -> SessionItem:
    """Return a session as a document has it."""
    row, marks = stored.row, stored.marks
    duration = None if row.first_time is None or row.last_time is None else row.last_time - row.first_time
    return SessionItem(
        id=None if row.session_id is None else path_text(row.session_id),
        key=stored.key,
        title=row.title,
        name=marks.name,
        tags=marks.tags,
        starred=marks.starred,
        archived=marks.archived,
        note=marks.note,
        project=None if row.project is None else path_text(row.project),
        path=path_text(stored.path),
        only_here=stored.only_here,
        copied_from=stored.copied_from,
        person=stored.person,
        machine=stored.origin,
        visibility=stored.visibility,
        first_time=to_datetime(row.first_time),
        last_time=to_datetime(row.last_time),
        duration_s=None if duration is None else duration / 1e6,
        models=row.models,
        branches=row.branches,
        messages=row.messages,
        prompts=row.prompts,
        answers=row.answers,
        calls=row.calls,
        agents=row.agents,
        lines=row.lines,
        errors=row.errors,
        problems=row.problems,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost_usd=None if row.cost is None else Decimal(row.cost),
        is_floor=row.is_floor,
        is_estimate=row.is_estimate,
        series=row.series,
        alike=stored.alike,
    )


def render_sessions(
    page: SessionPage, width: int | None, now: datetime | None, *, color: bool
) -> Iterator[str]:
    """Yield the lines of a table; without a width nothing is cut, and without `now` times are dates."""
    items = list(map(build_item, page.sessions))
    names = {} if width is None else shorten_ids((item.key, item.id) for item in items)
    home = None if width is None else expanduser("~")
    rows = [list(_session_cells(item, names.get(item.key), home, now)) for item in items]
    columns = [*_SESSION_COLUMNS]
    # If nobody has said whose anything is, it is one person's archive.
    for is_shown, column, cell in (
        (any(item.person for item in items), Column("person"), _whose_cell),
        (any(item.alike > 1 for item in items), Column("like this", right=True), _alike_cell),
    ):
        if is_shown:
            columns.insert(_BEHIND_TITLE, column)
            for row, item in zip(rows, items, strict=True):
                row.insert(_BEHIND_TITLE, cell(item))
    return render_table(columns, rows, width, color=color)


def render_sessions_csv(page: SessionPage) -> str:
    """Return sessions as CSV."""
    return render_csv(SessionItem.__struct_fields__, [astuple(build_item(stored)) for stored in page.sessions])


def marks_text(marks: Marks, title: str) -> str:
    """Return how a session is called, with a star before it and tags behind it; cleaned."""
    star = "★ " if marks.starred else ""
    tags = "".join(f" #{clean_line(tag)}" for tag in marks.tags)
    return (
        f"{star}{shorten(marks.name or title, _LONGEST_TITLE)}{tags}{' (archived)' if marks.archived else ''}"
    )


def place_text(path: str | None, home: str | None) -> str:
    """Return a project's path, from home on."""
    text = clean_line(path or "")
    inside = home is not None and (text == home or text.startswith(f"{home}/"))
    return f"~{text[len(home or '') :]}" if inside else text


def time_cell(moment: datetime | None, now: datetime | None) -> str:
    """Return when something was: how long ago, or to the minute."""
    if moment is None:
        return ""
    return f"{local_time(moment):%Y-%m-%d %H:%M}" if now is None else age_text(moment, now)


def money_cell(amount: Decimal | None, *, unpriced: bool) -> str:
    """Return dollars to the cent, as there is little room."""
    if amount is None:
        return "unpriced" if unpriced else ""
    return cents_text(amount)


def to_datetime(time: int | None) -> datetime | None:
    """Return a time of the store."""
    return find_moment(time)


def _session_cells(
    item: SessionItem, name: str | None, home: str | None, now: datetime | None
) -> Iterator[str]:
    marks = Marks(name=item.name, tags=item.tags, starred=item.starred, archived=item.archived)
    yield clean_line(item.id or item.key) if name is None else name
    yield marks_text(marks, item.title or "(no title)")
    yield place_text(item.project, home)
    yield time_cell(item.last_time, now)
    duration = duration_text if now is None else length_text
    yield "" if item.duration_s is None else duration(item.duration_s)
    yield f"{item.messages:,}"
    mark = "≈" if item.is_estimate else "≥" if item.is_floor else ""
    yield ("" if item.cost_usd is None else mark) + money_cell(item.cost_usd, unpriced=item.answers > 0)


def _whose_cell(item: SessionItem) -> str:
    """Return whose a session is, with a mark if the team sees it."""
    return f"{clean_line(item.person or '')}{'+' if item.visibility is Visibility.TEAM else ''}"


def _alike_cell(item: SessionItem) -> str:
    return f"{item.alike:,} sessions" if item.alike > 1 else ""


_PROJECT_COLUMNS = (
    Column("project", least=16, tail=True),
    Column("sessions", right=True),
    Column("only here", right=True, optional=4),
    Column("first", right=True, dim=True, optional=6),
    Column("last", right=True),
    Column("prompts", right=True, optional=5),
    Column("answers", right=True, optional=3),
    Column("tokens in", right=True, optional=2),
    Column("out", right=True, optional=2),
    Column("cost", right=True, optional=1),
)


class ProjectItem(Struct, frozen=True, gc=False, kw_only=True):
    """A project in a list: all of its sessions together."""

    project: str | None
    sessions: int
    only_here: int
    """Sessions of which no file is still outside."""
    archived: int
    """Sessions that were put away."""
    first_time: datetime | None
    last_time: datetime | None
    prompts: int
    answers: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    unpriced: int
    """Sessions that the cost leaves out."""


def build_projects(projects: Sequence[StoredProject]) -> tuple[ProjectItem, ...]:
    """Return projects as a document has them."""
    return tuple(
        ProjectItem(
            project=None if each.path is None else path_text(each.path),
            sessions=each.sessions,
            only_here=each.only_here,
            archived=each.archived,
            first_time=to_datetime(each.first_time),
            last_time=to_datetime(each.last_time),
            prompts=each.prompts,
            answers=each.answers,
            input_tokens=each.input_tokens,
            output_tokens=each.output_tokens,
            cost_usd=each.cost,
            unpriced=each.unpriced,
        )
        for each in projects
    )


def render_projects(
    projects: Sequence[StoredProject], width: int | None, now: datetime | None, *, color: bool
) -> Iterator[str]:
    """Yield the lines of a table; without a width nothing is cut, and without `now` times are dates."""
    home = None if width is None else expanduser("~")
    rows = [list(_project_cells(item, home, now)) for item in build_projects(projects)]
    return render_table(_PROJECT_COLUMNS, rows, width, color=color)


def render_projects_csv(projects: Sequence[StoredProject]) -> str:
    """Return projects as CSV."""
    return render_csv(ProjectItem.__struct_fields__, map(astuple, build_projects(projects)))


def _project_cells(item: ProjectItem, home: str | None, now: datetime | None) -> Iterator[str]:
    yield place_text(item.project, home) or "(no project)"
    yield f"{item.sessions:,}"
    yield f"{item.only_here:,}"
    yield time_cell(item.first_time, now)
    yield time_cell(item.last_time, now)
    yield f"{item.prompts:,}"
    yield f"{item.answers:,}"
    yield _tokens_text(item.input_tokens, now)
    yield _tokens_text(item.output_tokens, now)
    floor = "≥" if item.unpriced and item.cost_usd is not None else ""
    yield floor + money_cell(item.cost_usd, unpriced=item.answers > 0)


def _tokens_text(count: int, now: datetime | None) -> str:
    """Return a number of tokens: where there is little room, roughly."""
    for unit, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if now is not None and count >= unit:
            return f"{count / unit:.1f} {letter}"
    return f"{count:,}"
