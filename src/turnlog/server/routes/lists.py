"""`/api/projects`, `/api/sessions`, and what people say about a session."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, get, patch
from litestar.params import JSONBody, QueryParameter, RawBody
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from turnlog.server.auditing import GivenVisit
from turnlog.server.board.watching import GivenWatch
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.etags import check_unchanged
from turnlog.server.filters import SESSION_FILTER, GivenFilter
from turnlog.server.finding import get_session, may_change
from turnlog.server.parameters import Cursor, Limit, NamedSession, find_next
from turnlog.server.security.policies import LINKED, forbid
from turnlog.server.shapes.conversations import SessionDetail
from turnlog.server.shapes.lists import Marks, Projects, SessionFacets, SessionPage
from turnlog.server.views.limits import sayable
from turnlog.server.views.lists import view_facets, view_marks, view_project, view_session
from turnlog.server.views.resuming import build_resume
from turnlog.store.lists import ProjectOrder, SessionOrder
from turnlog.store.marks import LONGEST_NAME, LONGEST_NOTE, MOST_TAGS, MarkChange

_Tags = Annotated[tuple[str, ...], Meta(max_length=MOST_TAGS)]


class MarksChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change; fields that are left out stay as they are."""

    name: Annotated[str, Meta(max_length=LONGEST_NAME)] | None | UnsetType = UNSET
    """A name to show instead of the title; null removes it."""
    note: Annotated[str, Meta(max_length=LONGEST_NOTE)] | None | UnsetType = UNSET
    """Null removes it."""
    starred: bool | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    """Whether it is hidden: lists leave it out unless asked for it."""
    add_tags: _Tags = ()
    """Each of at most 64 characters, without spaces and commas."""
    remove_tags: _Tags = ()
    """Removed after the others are added."""


@get("/api/projects", sync_to_thread=True)
def list_projects(
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
    text: Annotated[str | None, QueryParameter(max_length=500, description="Part of the path.")] = None,
    sort: Annotated[ProjectOrder, QueryParameter(description="The order.")] = ProjectOrder.NEWEST,
    limit: Annotated[int, QueryParameter(ge=1, le=5000, description="The maximum number of projects.")] = 1000,
    cursor: Cursor = 0,
) -> Projects:
    """List the folders in which Claude Code worked, each with the usage of its sessions."""
    check_unchanged(request, store.read_feed(visible).last)
    found = store.list_projects(visible, text=text, order=sort)
    items = tuple(map(view_project, found[cursor : cursor + limit]))
    return Projects(items=items, total=len(found), next=find_next(cursor, items, len(found)))


@get("/api/sessions", dependencies=SESSION_FILTER, sync_to_thread=True)
def list_sessions(
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
    asked: GivenFilter,
    watch: GivenWatch,
    sort: Annotated[SessionOrder, QueryParameter(description="The order.")] = SessionOrder.NEWEST,
    limit: Limit = 100,
    cursor: Annotated[
        str | None,
        QueryParameter(max_length=2000, description="Where to continue: `next` from the previous response."),
    ] = None,
    grouped: Annotated[
        bool,
        QueryParameter(
            description="Of three or more sessions that programs started with the same prompt, only the first."
        ),
    ] = False,
) -> SessionPage:
    """List sessions, newest first by default."""
    last = store.read_feed(visible).last
    page = store.list_sessions(visible, asked, order=sort, limit=limit, cursor=cursor, grouped=grouped)
    items = tuple(map(view_session, page.sessions, watch.find_states(page.sessions)))
    # What a session does changes also with the time, and when its process ends.
    check_unchanged(request, last, *(item.state for item in items))
    return SessionPage(items=items, total=page.total, rows=page.rows, next=page.next)


@get("/api/sessions/facets", dependencies=SESSION_FILTER, sync_to_thread=True)
def list_facets(
    request: Request[Any, Any, Any], store: GivenStore, visible: GivenScope, asked: GivenFilter
) -> SessionFacets:
    """List the models, branches and tags of sessions, most frequent first."""
    check_unchanged(request, store.read_feed(visible).last)
    return view_facets(store.list_facets(visible, asked))


@get("/api/sessions/{id:str}", opt=LINKED, sync_to_thread=True)
def get_session_detail(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    watch: GivenWatch,
) -> SessionDetail:
    """Return what is known of a session at a glance."""
    session = get_session(store, visible, id, visit)
    last = store.read_feed(visible).last
    item = view_session(session, watch.find_state(session))
    if visit.caller.link is not None:  # strangers see what was said, and not by whom
        item = replace(item, person=None, machine="", series=None)
    check_unchanged(request, session.key, last, item.state)
    return SessionDetail(
        session=item,
        path=sayable(session.path),
        resume=build_resume(item.session_id, item.project),
        summary=Raw(session.row.summary),
        messages=session.row.messages,
    )


@patch("/api/sessions/{id:str}/marks", sync_to_thread=True)
def change_marks(
    id: NamedSession,
    data: JSONBody[MarksChange],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
) -> Marks:
    """Name a session, tag it, star it, add a note, or hide it from lists."""
    wanted, session = decode_body(body, MarksChange), get_session(store, visible, id, visit)
    if not may_change(visit.caller, session.person):
        raise forbid("Only the owner and admins can mark this session")
    change = MarkChange(
        name=wanted.name,
        note=wanted.note,
        starred=wanted.starred,
        archived=wanted.archived,
        tags=wanted.add_tags,
        untags=wanted.remove_tags,
    )
    store.mark(visible, [session.key], change)
    return view_marks(get_session(store, visible, session.key, visit))


HANDLERS = (list_projects, list_sessions, list_facets, get_session_detail, change_marks)
