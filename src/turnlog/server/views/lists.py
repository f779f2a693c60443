"""Sessions and projects as the API lists them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from turnlog.server.board.columns import SessionState, name_state
from turnlog.server.shapes.lists import Facet, Marks, Project, SessionFacets, SessionItem
from turnlog.server.views.limits import head_of, sayable
from turnlog.server.views.moments import dollars, moment, took_ms
from turnlog.store.lists import Facets, StoredProject, StoredSession

_MOST_FACETS = 200
_SEPARATOR = re.compile(r"[/\\]")
"""Of folders; sessions may come from any system."""


def view_session(stored: StoredSession, state: SessionState | None) -> SessionItem:
    """Return a session as it is listed, and what it does."""
    row = stored.row
    name = name_session(stored)
    title = stored.marks.name or row.title
    return SessionItem(
        key=stored.key,
        session_id=name,
        session_id_alias=name,
        revision=stored.revision,
        title=None if title is None else head_of(title),
        first_prompt=None if row.first_prompt is None else head_of(row.first_prompt),
        project=None if row.project is None else sayable(row.project),
        git_branch=sayable(row.branches[-1]) if row.branches else None,
        models=tuple(map(sayable, row.models)),
        messages=row.messages,
        prompts=row.prompts,
        answers=row.answers,
        calls=row.calls,
        errors=row.errors,
        agents=row.agents,
        lines=row.lines,
        problems=row.problems,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost_usd=dollars(row.cost),
        created_at=moment(row.first_time),
        last_at=moment(row.last_time),
        duration_ms=took_ms(row.first_time, row.last_time),
        present=stored.present,
        only_here=stored.only_here,
        state=None if state is None else name_state(state),
        marks=view_marks(stored),
        person=stored.person,
        machine=stored.origin,
        visibility=stored.visibility,
        series=row.series,
        alike=stored.alike,
    )


def name_session(stored: StoredSession) -> str:
    """Return the id of a session: what its lines say, else what its file is called."""
    return sayable(stored.row.session_id or PurePath(stored.path).stem or stored.key)


def view_marks(stored: StoredSession) -> Marks:
    """Return what somebody said of a session."""
    marks = stored.marks
    return Marks(
        name=marks.name, tags=marks.tags, starred=marks.starred, archived=marks.archived, note=marks.note
    )


def view_facets(found: Facets) -> SessionFacets:
    """Return what sessions can be told apart by."""
    return SessionFacets(
        models=_list_facets(found.models),
        tags=_list_facets(found.tags),
        branches=_list_facets(found.branches),
        persons=_list_facets(found.persons),
        machines=_list_facets(found.machines),
    )


def _list_facets(counted: Sequence[tuple[str, int]]) -> tuple[Facet, ...]:
    return tuple(Facet(name=sayable(name), sessions=sessions) for name, sessions in counted[:_MOST_FACETS])


def view_project(stored: StoredProject) -> Project:
    """Return a project as it is listed."""
    path = None if stored.path is None else sayable(stored.path)
    return Project(
        path=path,
        name=None if path is None else _SEPARATOR.split(path.rstrip("/\\"))[-1] or path,
        sessions=stored.sessions,
        only_here=stored.only_here,
        archived=stored.archived,
        prompts=stored.prompts,
        answers=stored.answers,
        input_tokens=stored.input_tokens,
        output_tokens=stored.output_tokens,
        cost_usd=dollars(stored.cost),
        unpriced=stored.unpriced,
        first_at=moment(stored.first_time),
        last_at=moment(stored.last_time),
    )
