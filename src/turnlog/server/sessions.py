"""Sessions and projects: found by their names, and as lists show them.

A session is named by its key, its id, or a beginning of either that only one has.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import PurePath

from msgspec import Struct

from turnlog.instants import find_moment
from turnlog.server.errors import ErrorDetail, NotFoundError, RequestError
from turnlog.server.session_states import ListedState, SessionState, to_listed_state
from turnlog.server.values import clean_text, dollars, elapsed_ms, fill_clean, one_line
from turnlog.shapes import fill
from turnlog.store.interface import Store, find_sessions
from turnlog.store.lists import Facets, SessionFilter, StoredProject, StoredSession
from turnlog.store.model import Scope, Visibility


class Marks(Struct, frozen=True, gc=False, kw_only=True):
    """A person's marks on a session: a name, tags, a star, a note."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    starred: bool = False
    archived: bool = False
    note: str | None = None


class Project(Struct, frozen=True, gc=False, kw_only=True):
    """A folder in which Claude Code worked."""

    path: str | None
    """None for sessions that do not say."""
    name: str | None
    """The last part of its path."""
    sessions: int
    only_here: int
    """How many of them exist only in the archive."""
    archived: int
    prompts: int
    answers: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None if none of it has a price."""
    unpriced: int
    """How many sessions the cost leaves out."""
    first_at: datetime | None
    last_at: datetime | None


class Projects(Struct, frozen=True, gc=False, kw_only=True):
    """A page of projects."""

    items: tuple[Project, ...]
    total: int
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""


class SessionItem(Struct, frozen=True, gc=False, kw_only=True):
    """A session in a list."""

    key: str
    """Identifies the session permanently, unlike its id: copies have the same id."""
    session_id: str
    session_id_alias: str
    revision: int
    title: str | None
    """The name it was given, else Claude Code's title, else its first prompt."""
    first_prompt: str | None
    project: str | None
    git_branch: str | None
    models: tuple[str, ...]
    messages: int
    """Messages in the transcript."""
    prompts: int
    answers: int
    calls: int
    errors: int
    """Calls and requests that failed."""
    agents: int
    lines: int
    problems: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    created_at: datetime | None
    last_at: datetime | None
    duration_ms: int | None
    present: bool
    """Whether its transcript still exists where Claude Code wrote it."""
    only_here: bool
    """Whether none of its files does."""
    state: ListedState | None
    """What it is doing; null if nothing has happened for a day."""
    marks: Marks
    person: str | None
    """The owner; null if there is none."""
    machine: str
    """The machine it comes from; empty if unknown."""
    visibility: Visibility
    """Who else can see it."""
    series: str | None
    """The same for all sessions of a project that programs started with the same prompt; null if a person was
    involved. Those of one series and one person are a group."""
    alike: int
    """In a grouped list, how many sessions like this there are, this one included; otherwise 1."""


class Facet(Struct, frozen=True, gc=False, kw_only=True):
    """A value, and how many sessions have it."""

    name: str
    sessions: int


class SessionFacets(Struct, frozen=True, gc=False, kw_only=True):
    """The values that sessions can be filtered by, at most 200 of each."""

    models: tuple[Facet, ...]
    tags: tuple[Facet, ...]
    branches: tuple[Facet, ...]
    persons: tuple[Facet, ...]
    """An empty name means no owner."""
    machines: tuple[Facet, ...]


class SessionPage(Struct, frozen=True, gc=False, kw_only=True):
    """A page of sessions."""

    items: tuple[SessionItem, ...]
    total: int
    """How many sessions there are in all pages."""
    rows: int
    """How many items there are in all pages: fewer, where groups are one."""
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""


WITH_PROBLEMS = SessionFilter(problems=True, archived=None)
_MOST_FACETS = 200
_SEPARATORS = re.compile(r"[/\\]")
"""Of folders; sessions may come from any system."""


def view_session(stored: StoredSession, state: SessionState | None) -> SessionItem:
    """Return a session as it is listed, and what it does."""
    row = stored.row
    name = name_session(stored)
    title = stored.marks.name or row.title
    return fill_clean(
        SessionItem,
        row,
        stored,
        session_id=name,
        session_id_alias=name,
        title=None if title is None else one_line(title),
        first_prompt=None if row.first_prompt is None else one_line(row.first_prompt),
        git_branch=row.branches[-1] if row.branches else None,
        models=tuple(map(clean_text, row.models)),
        cost_usd=dollars(row.cost),
        created_at=find_moment(row.first_time),
        last_at=find_moment(row.last_time),
        duration_ms=elapsed_ms(row.first_time, row.last_time),
        state=None if state is None else to_listed_state(state),
        marks=fill(Marks, stored.marks),
        machine=stored.origin,
    )


def name_session(stored: StoredSession) -> str:
    """Return the id of a session: from its lines, otherwise from the name of its file."""
    return clean_text(stored.row.session_id or PurePath(stored.path).stem or stored.key)


def view_facets(found: Facets) -> SessionFacets:
    """Return the values that sessions can be filtered by."""
    counted = {name: getattr(found, name)[:_MOST_FACETS] for name in SessionFacets.__struct_fields__}
    return SessionFacets(
        **{
            kind: tuple(Facet(name=clean_text(name), sessions=sessions) for name, sessions in each)
            for kind, each in counted.items()
        }
    )


def view_project(stored: StoredProject) -> Project:
    """Return a project as it is listed."""
    path = None if stored.path is None else clean_text(stored.path)
    return fill(
        Project,
        stored,
        path=path,
        name=None if path is None else _SEPARATORS.split(path.rstrip("/\\"))[-1] or path,
        cost_usd=dollars(stored.cost),
        first_at=find_moment(stored.first_time),
        last_at=find_moment(stored.last_time),
    )


def find_session(store: Store, visible: Scope, name: str) -> StoredSession:
    """Return a session; raises `RequestError` if there is none, or if several go by that name."""
    found = find_sessions(store, visible, name) if name else []
    exact = [session for session in found if session.key == name] or [
        session for session in found if session.row.session_id == name
    ]
    meant = exact or (found if len(name) >= SHORTEST else [])
    if not meant:
        raise NotFoundError("There is no such session")
    if len(meant) > 1:
        # Copies have the same id; their keys tell them apart.
        keys = tuple(ErrorDetail(where="id", message=session.key) for session in meant[:_MOST_NAMED])
        raise RequestError(409, "ambiguous", f"{len(meant)} sessions match that name", details=keys)
    return meant[0]


SHORTEST = 4
"""How many characters of a name are needed, unless it is the whole name."""


_MOST_NAMED = 5
