"""`/api/projects`, `/api/sessions`, and what people say about a session."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, Any

from litestar import Request, get, patch
from litestar.params import JSONBody, QueryParameter
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.moments import parse_moment
from turnlog.server.parameters import Cursor, Limit, NamedSession, find_next
from turnlog.server.shapes.conversations import SessionDetail
from turnlog.server.shapes.lists import Marks, Projects, SessionPage
from turnlog.server.views.limits import sayable
from turnlog.server.views.lists import view_marks, view_project, view_session
from turnlog.store.lists import ProjectOrder, SessionFilter, SessionOrder
from turnlog.store.marks import LONGEST_NAME, LONGEST_NOTE, MOST_TAGS, MarkChange

__all__ = ["HANDLERS", "MarksChange", "change_marks", "get_session_detail", "list_projects", "list_sessions"]

_is_id = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch


_Tags = Annotated[tuple[str, ...], Meta(max_length=MOST_TAGS)]


class MarksChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change; what is left out stays as it is."""

    name: Annotated[str, Meta(max_length=LONGEST_NAME)] | None | UnsetType = UNSET
    """One's own, which is shown instead of the title; null takes it away."""
    note: Annotated[str, Meta(max_length=LONGEST_NOTE)] | None | UnsetType = UNSET
    """Null takes it away."""
    starred: bool | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    """Whether it is put away: lists leave it out unless it is asked for."""
    add_tags: _Tags = ()
    """Each of at most 64 characters, without blanks and commas."""
    remove_tags: _Tags = ()
    """They go after others were added."""


@get("/api/projects", sync_to_thread=True)
def list_projects(
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
    text: Annotated[str | None, QueryParameter(max_length=500, description="A part of the path.")] = None,
    sort: Annotated[ProjectOrder, QueryParameter(description="In which order.")] = ProjectOrder.NEWEST,
    limit: Annotated[int, QueryParameter(ge=1, le=5000, description="The most projects.")] = 1000,
    cursor: Cursor = 0,
) -> Projects:
    """List the folders in which Claude Code worked, each with what its sessions used."""
    check_unchanged(request, store.find_last_change(visible))
    found = store.list_projects(visible, text=text, order=sort)
    items = tuple(map(view_project, found[cursor : cursor + limit]))
    return Projects(items=items, total=len(found), next=find_next(cursor, items, len(found)))


@get("/api/sessions", sync_to_thread=True)
def list_sessions(
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
    project: Annotated[
        str | None, QueryParameter(max_length=4000, description="The path of the project, all of it.")
    ] = None,
    text: Annotated[
        str | None, QueryParameter(max_length=500, description="A part of the title, whatever its case.")
    ] = None,
    model: Annotated[
        str | None, QueryParameter(max_length=500, description="A part of the name of one of its models.")
    ] = None,
    branch: Annotated[
        str | None, QueryParameter(max_length=500, description="A part of the name of a git branch.")
    ] = None,
    tag: Annotated[
        list[str] | None, QueryParameter(max_items=20, description="Tags that it has, all of them.")
    ] = None,
    starred: Annotated[bool | None, QueryParameter(description="Those with a star, or without.")] = None,
    archived: Annotated[
        bool, QueryParameter(description="Those that were put away, instead of the others.")
    ] = False,
    only_here: Annotated[
        bool | None, QueryParameter(description="Those whose files exist nowhere else any more, or the others.")
    ] = None,
    errors: Annotated[
        bool | None, QueryParameter(description="Those in which calls or requests failed, or the others.")
    ] = None,
    since: Annotated[
        str | None,
        QueryParameter(
            max_length=40, description="Something happened then or later: a date or a time, ISO 8601."
        ),
    ] = None,
    until: Annotated[
        str | None,
        QueryParameter(max_length=40, description="Something happened before: a date or a time, ISO 8601."),
    ] = None,
    sort: Annotated[SessionOrder, QueryParameter(description="In which order.")] = SessionOrder.NEWEST,
    limit: Limit = 100,
    cursor: Annotated[
        str | None,
        QueryParameter(max_length=2000, description="Where to go on: `next` of the answer before."),
    ] = None,
) -> SessionPage:
    """List sessions, the newest first unless asked otherwise."""
    asked = SessionFilter(
        project=project,
        text=text,
        model=model,
        branch=branch,
        tags=tuple(tag or ()),
        starred=starred,
        archived=archived,
        only_here=only_here,
        errors=errors,
        since=parse_moment("since", since),
        until=parse_moment("until", until),
    )
    check_unchanged(request, store.find_last_change(visible))
    page = store.list_sessions(visible, asked, order=sort, limit=limit, cursor=cursor)
    return SessionPage(items=tuple(map(view_session, page.sessions)), total=page.total, next=page.next)


@get("/api/sessions/{id:str}", sync_to_thread=True)
def get_session_detail(
    request: Request[Any, Any, Any], id: NamedSession, store: GivenStore, visible: GivenScope
) -> SessionDetail:
    """Return all that is known of a session at a glance."""
    session = get_session(store, visible, id)
    check_unchanged(request, session.key, store.find_last_change(visible))
    item = view_session(session)
    return SessionDetail(
        session=item,
        path=sayable(session.path),
        resume=_resume(item.session_id, item.project),
        summary=Raw(session.row.summary),
        messages=store.count_messages(visible, session.key),
    )


@patch("/api/sessions/{id:str}/marks", sync_to_thread=True)
def change_marks(
    id: NamedSession, data: JSONBody[MarksChange], store: GivenStore, visible: GivenScope
) -> Marks:
    """Name a session, tag it, give it a star or a note, or put it away."""
    session = get_session(store, visible, id)
    change = MarkChange(
        name=data.name,
        note=data.note,
        starred=data.starred,
        archived=data.archived,
        tags=data.add_tags,
        untags=data.remove_tags,
    )
    store.mark(visible, [session.key], change)
    return view_marks(get_session(store, visible, session.key))


def _resume(session_id: str, project: str | None) -> str | None:
    """Return the command that goes on with a session; what is not an id is nothing for a shell."""
    if _is_id(session_id) is None:
        return None
    command = f"claude --resume {session_id}"
    # A session that does not tell where it worked has the name of its folder instead of a path.
    if project is None or not (PurePosixPath(project).is_absolute() or PureWindowsPath(project).drive):
        return command
    return f"cd {shlex.quote(project)} && {command}"


HANDLERS = (list_projects, list_sessions, get_session_detail, change_marks)
