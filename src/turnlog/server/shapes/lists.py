"""Projects and sessions, as they are listed."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from turnlog.server.board.columns import ListedState
from turnlog.store.people import Visibility

__all__ = ["Facet", "Marks", "Project", "Projects", "SessionFacets", "SessionItem", "SessionPage"]


class Marks(Struct, frozen=True, gc=False, kw_only=True):
    """What somebody said of a session: a name, tags, a star, a note."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    starred: bool = False
    archived: bool = False
    note: str | None = None


class Project(Struct, frozen=True, gc=False, kw_only=True):
    """A folder in which Claude Code worked."""

    path: str | None
    """None for sessions that do not tell."""
    name: str | None
    """The last part of its path."""
    sessions: int
    only_here: int
    """How many of them exist nowhere else any more."""
    archived: int
    prompts: int
    answers: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None if nothing of it has a price."""
    unpriced: int
    """How many sessions the cost leaves out."""
    first_at: datetime | None
    last_at: datetime | None


class Projects(Struct, frozen=True, gc=False, kw_only=True):
    """Projects, and where the others begin."""

    items: tuple[Project, ...]
    total: int
    next: str | None
    """Give it as `cursor` to go on; None at the end."""


class SessionItem(Struct, frozen=True, gc=False, kw_only=True):
    """A session in a list."""

    key: str
    """Names the session for good, where its id does not: copies have the same id."""
    session_id: str
    session_id_alias: str
    revision: int
    title: str | None
    """A name that was given, else what Claude Code calls it, else its first prompt."""
    first_prompt: str | None
    project: str | None
    git_branch: str | None
    models: tuple[str, ...]
    messages: int
    """Of the transcript."""
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
    """What it does; null if nothing happened in it for a day."""
    marks: Marks
    person: str | None
    """Whose it is; null if nobody said."""
    machine: str
    """Where it comes from; empty if that was never told."""
    visibility: Visibility
    """Who sees it besides."""
    series: str | None
    """The same for all sessions of a project that programs started with the same prompt; null if a person had a
    hand in it. Those of one series and one person are a group."""
    alike: int
    """In a grouped list, how many sessions like this there are, itself included; else 1."""


class Facet(Struct, frozen=True, gc=False, kw_only=True):
    """A value, and how many sessions have it."""

    name: str
    sessions: int


class SessionFacets(Struct, frozen=True, gc=False, kw_only=True):
    """What sessions can be told apart by; of each, at most 200 values."""

    models: tuple[Facet, ...]
    tags: tuple[Facet, ...]
    branches: tuple[Facet, ...]
    persons: tuple[Facet, ...]
    """An empty name stands for nobody."""
    machines: tuple[Facet, ...]


class SessionPage(Struct, frozen=True, gc=False, kw_only=True):
    """Some sessions, and where the others begin."""

    items: tuple[SessionItem, ...]
    total: int
    """How many sessions there are in all pages."""
    rows: int
    """How many items there are in all pages: fewer, where groups are one."""
    next: str | None
    """Give it as `cursor` to go on; None at the end."""
