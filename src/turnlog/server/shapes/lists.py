"""Projects and sessions, as they are listed."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from turnlog.server.board.columns import ListedState
from turnlog.store.model import Visibility


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
