"""A list of projects: as a table, as CSV, and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from os.path import expanduser

from msgspec import Struct
from msgspec.structs import astuple

from turnlog.cli.listing import Column, render_csv, render_table
from turnlog.cli.rendering.sessions import money_cell, place_text, time_cell, to_datetime
from turnlog.store.lists import StoredProject
from turnlog.transcripts.files.session_files import path_text

_COLUMNS = (
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
    rows = [list(_cells(item, home, now)) for item in build_projects(projects)]
    return render_table(_COLUMNS, rows, width, color=color)


def render_projects_csv(projects: Sequence[StoredProject]) -> str:
    """Return projects as CSV."""
    return render_csv(ProjectItem.__struct_fields__, map(astuple, build_projects(projects)))


def _cells(item: ProjectItem, home: str | None, now: datetime | None) -> Iterator[str]:
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
