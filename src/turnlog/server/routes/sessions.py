"""`/api/projects`, `/api/sessions`, `/api/usage` and `/api/search`: questions across sessions; marks of one.

Several routes share the parameters that filter sessions:

    @get(…, dependencies=_SESSION_FILTER, sync_to_thread=True)
    def list_sessions(store: GivenStore, visible: GivenScope, where: GivenFilter, …)

Money in usage reports is text, digit for digit.

A search ends when its caller is gone. Snippets come without terminal escapes.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import partial
from itertools import accumulate
from typing import Annotated, Any

from anyio import to_thread
from litestar import Request, get, patch
from litestar.di import NamedDependency, Provide
from litestar.params import JSONBody, RawBody, SkipValidation
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from turnlog.errors import SearchCancelledError
from turnlog.instants import find_moment
from turnlog.server import audit, requests
from turnlog.server import sessions as shapes
from turnlog.server.errors import ErrorDetail, InvalidRequestError, RequestError
from turnlog.server.requests import query
from turnlog.server.security.callers import LINKED, CallerKind, GivenCaller
from turnlog.server.state_watch import GivenWatch
from turnlog.server.values import build_resume, clean_text, fill_clean, one_line
from turnlog.shapes import fill
from turnlog.store import lists
from turnlog.store.account_model import Action
from turnlog.store.model import SessionAccess, Visibility
from turnlog.store.search.language import LONGEST, And, Filter, Node, Not, Or, parse_query
from turnlog.store.search.matcher import Snippet
from turnlog.store.search.paging import Hit as Found
from turnlog.store.search.paging import SearchOrder, SearchPage
from turnlog.store.usage_cells import Span, find_zone
from turnlog.store.usage_report import Breakdown, Grouping, UsageQuery, UsageReport, build_report
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.lines.passages import PassageKind

ME = "me"
"""Stands for the caller."""
GivenFilter = NamedDependency[SkipValidation[lists.SessionFilter]]
"""Parameter `requested`: which sessions are meant."""


def _build_filter(
    caller: GivenCaller,
    project: Annotated[str | None, query("The full path of the project.", max_length=4000)] = None,
    text: Annotated[str | None, query("Part of the title; case is ignored.", max_length=500)] = None,
    model: Annotated[str | None, query("Part of the name of one of its models.", max_length=500)] = None,
    branch: Annotated[str | None, query("Part of the name of a git branch.", max_length=500)] = None,
    tag: Annotated[list[str] | None, query("Tags that it must have, all of them.", max_items=20)] = None,
    person: Annotated[
        list[str] | None,
        query(
            "Their owner: any of these people. `me` is the caller, an empty name means no owner.", max_items=100
        ),
    ] = None,
    machine: Annotated[
        list[str] | None, query("The machine they come from: any of these.", max_items=100)
    ] = None,
    visibility: Annotated[Visibility | None, query("Who sees them.")] = None,
    starred: Annotated[bool | None, query("Only those with a star, or without.")] = None,
    archived: Annotated[bool, query("Sessions hidden from lists, instead of the others.")] = False,
    only_here: Annotated[
        bool | None, query("Only those whose files exist nowhere else, or the others.")
    ] = None,
    errors: Annotated[bool | None, query("Only those with failed calls or requests, or the others.")] = None,
    problems: Annotated[
        bool | None, query("Only those with wrong or unknown content in their lines, or the others.")
    ] = None,
    series: Annotated[
        str | None, query("Those of one series: `series` of a session in a list.", max_length=100)
    ] = None,
    since: Annotated[
        str | None, query("Active at this time or later: a date or a time, ISO 8601.", max_length=40)
    ] = None,
    until: Annotated[
        str | None, query("Active before this time: a date or a time, ISO 8601.", max_length=40)
    ] = None,
) -> lists.SessionFilter:
    """Return which sessions are meant; raises `InvalidRequestError` for a time that is none."""
    return lists.SessionFilter(
        project=project,
        text=text,
        model=model,
        branch=branch,
        tags=tuple(tag or ()),
        # Nobody is called `me`, and for the operator that is nobody.
        persons=tuple((caller.name or "") if each == ME else each for each in person or ()),
        machines=tuple(machine or ()),
        visibility=visibility,
        starred=starred,
        archived=archived,
        only_here=only_here,
        errors=errors,
        problems=problems,
        series=series,
        since=requests.parse_moment("since", since),
        until=requests.parse_moment("until", until),
    )


_SESSION_FILTER: Mapping[str, Provide] = {"where": Provide(_build_filter, sync_to_thread=False)}


class SessionDetail(Struct, frozen=True, gc=False, kw_only=True):
    """An overview of a session."""

    session: shapes.SessionItem
    path: str
    """Where its transcript was last seen."""
    resume: str | None
    """The command that resumes it; None if its id does not look valid."""
    summary: Raw
    """`transcripts.Summary` as JSON."""
    messages: int
    """Messages in the transcript."""


_Tags = Annotated[tuple[str, ...], Meta(max_length=lists.MOST_TAGS)]


class MarksChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change; fields that are left out stay as they are."""

    name: Annotated[str, Meta(max_length=lists.LONGEST_NAME)] | None | UnsetType = UNSET
    """A name to show instead of the title; null removes it."""
    note: Annotated[str, Meta(max_length=lists.LONGEST_NOTE)] | None | UnsetType = UNSET
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
    requester: audit.GivenRequester,
    text: Annotated[str | None, query("Part of the path.", max_length=500)] = None,
    sort: Annotated[lists.ProjectOrder, query("The order.")] = lists.ProjectOrder.NEWEST,
    limit: Annotated[int, requests.integer("The maximum number of projects.", least=1, most=5000)] = 1000,
    cursor: requests.Cursor = 0,
) -> shapes.Projects:
    """List the folders in which Claude Code worked, each with the usage of its sessions."""
    requester.check_unchanged(requester.store.read_feed(requester.visible).last)
    found = requester.store.list_projects(requester.visible, text=text, order=sort)
    items = tuple(map(shapes.view_project, found[cursor : cursor + limit]))
    return shapes.Projects(items=items, total=len(found), next=requests.find_next(cursor, items, len(found)))


@get("/api/sessions", dependencies=_SESSION_FILTER, sync_to_thread=True)
def list_sessions(
    requester: audit.GivenRequester,
    where: GivenFilter,
    watch: GivenWatch,
    sort: Annotated[lists.SessionOrder, query("The order.")] = lists.SessionOrder.NEWEST,
    limit: requests.Limit = 100,
    cursor: Annotated[
        str | None, query("Where to continue: `next` from the previous response.", max_length=2000)
    ] = None,
    grouped: Annotated[
        bool, query("Of three or more sessions that programs started with the same prompt, only the first.")
    ] = False,
) -> shapes.SessionPage:
    """List sessions, newest first by default."""
    store, visible = requester.store, requester.visible
    last = store.read_feed(visible).last
    page = store.list_sessions(visible, where, order=sort, limit=limit, cursor=cursor, grouped=grouped)
    items = tuple(map(shapes.view_session, page.sessions, watch.find_states(page.sessions)))
    # What a session does changes also with the time, and when its process ends.
    requester.check_unchanged(last, *(item.state for item in items))
    return shapes.SessionPage(items=items, total=page.total, rows=page.rows, next=page.next)


@get("/api/sessions/facets", dependencies=_SESSION_FILTER, sync_to_thread=True)
def list_facets(
    requester: audit.GivenRequester,
    where: GivenFilter,
) -> shapes.SessionFacets:
    """List the models, branches and tags of sessions, most frequent first."""
    requester.check_unchanged(requester.store.read_feed(requester.visible).last)
    return shapes.view_facets(requester.store.list_facets(requester.visible, where))


@get("/api/sessions/{id:str}", opt=LINKED, sync_to_thread=True)
def get_session_detail(
    requested: audit.GivenSession,
    watch: GivenWatch,
) -> SessionDetail:
    """Return what is known of a session at a glance."""
    session = requested.get()
    last = requested.store.read_feed(requested.visible).last
    item = shapes.view_session(session, watch.find_state(session))
    if requested.caller.link is not None:  # strangers see what was said, and not by whom
        item = replace(item, person=None, machine="", series=None)
    requested.check_unchanged(session.key, last, item.state)
    return SessionDetail(
        session=item,
        path=clean_text(session.path),
        resume=build_resume(item.session_id, item.project),
        summary=Raw(session.row.summary),
        messages=session.row.messages,
    )


@patch("/api/sessions/{id:str}/marks", sync_to_thread=True)
def change_marks(
    requested: audit.GivenSession,
    data: JSONBody[MarksChange],
    body: RawBody,
) -> shapes.Marks:
    """Name a session, tag it, star it, add a note, or hide it from lists."""
    wanted = requests.decode_body(body, MarksChange)
    session = requested.get_own("Only the owner and admins can mark this session")
    change = lists.MarkChange(
        name=wanted.name,
        note=wanted.note,
        starred=wanted.starred,
        archived=wanted.archived,
        tags=wanted.add_tags,
        untags=wanted.remove_tags,
    )
    requested.store.mark(requested.visible, [session.key], change)
    return fill(shapes.Marks, requested.get_session(session.key).marks)


@get("/api/usage", sync_to_thread=True)
def get_usage(
    requester: audit.GivenRequester,
    by: Annotated[Grouping, query("What each row covers.")] = Grouping.DAILY,
    since: Annotated[date | None, query("The first day to include.")] = None,
    until: Annotated[date | None, query("The last day to include.")] = None,
    timezone: Annotated[
        str, query("The time zone that defines days, such as Europe/Berlin.", max_length=100)
    ] = "UTC",
    breakdown: Annotated[Breakdown | None, query("What rows are divided by; not available by tool.")] = None,
    project: Annotated[str | None, query("Part of the path of projects.", max_length=500)] = None,
    top: Annotated[
        int,
        requests.integer(
            "The maximum number of rows: the most expensive, or the newest days, weeks, months or "
            "blocks. `others` combines the rest.",
            least=1,
            most=4000,
        ),
    ] = 1000,
) -> UsageReport:
    """Report tokens and cost by day, session, project, model, tool or block of five hours."""
    try:
        zone = find_zone(timezone)
    except ValueError:
        problem = ErrorDetail(
            where="timezone", message="expected the name of a time zone, such as Europe/Berlin"
        )
        raise InvalidRequestError("There is no such time zone", problem) from None
    if by is Grouping.TOOL and breakdown is not None:
        raise InvalidRequestError("Rows by tool cannot be divided further")
    now = datetime.now(UTC)
    if by is not Grouping.BLOCKS:  # the rate of the block that is running changes with the time
        requester.check_unchanged(requester.store.read_feed(requester.visible).last)
    query = UsageQuery(
        zone=zone,
        zone_name=timezone,
        now=now,
        by=by,
        breakdown=breakdown,
        span=Span(since, until),
        project=project,
        most=top,
    )
    return build_report(requester.store.read_usage(requester.visible), query)


class Mark(Struct, frozen=True, gc=False, kw_only=True):
    """A matching part of a snippet, in characters (not UTF-16 units)."""

    start: int
    end: int


class Hit(Struct, frozen=True, gc=False, kw_only=True):
    """A passage that matches, and exactly where it is."""

    kind: PassageKind
    session: str | None
    """The session's key; None for a hook delivery of a session that is not known."""
    session_id: str
    project: str | None
    title: str | None
    source: str | None
    message: int | None
    """The index of its message, among those of its file."""
    message_uuid: str | None
    call: int | None
    tool: str | None
    role: Role | None
    model: str | None
    agent_id: str | None
    is_error: bool
    created_at: datetime | None
    snippet: str
    marks: tuple[Mark, ...]
    person: str | None | UnsetType = UNSET
    """The owner of the session; absent where there is only one person."""
    machine: str | UnsetType = UNSET
    """The machine the session comes from; absent like `person`."""


class Hits(Struct, frozen=True, gc=False, kw_only=True):
    """A page of hits."""

    items: tuple[Hit, ...]
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    unreadable: int
    """Texts that may be hits, but could not be read: the archive is damaged."""
    index_backlog: int | UnsetType = UNSET
    """How many changes an index elsewhere has yet to learn of: what is new may be missing. Absent if there are
    none."""


_ESCAPE = re.compile(
    r"""
    \x1b\[[0-?]*[ -/]*(?:[@-~]|(?=…|$))             # CSI, perhaps cut off at the end
    | \x1b\][^\x07\x1b]*(?:\x07|\x1b\\|(?=…|$)|$)?  # OSC
    | \x1b[PX^_][^\x1b]*(?:\x1b\\)?                 # DCS and the like
    | \x1b[ -/]*[0-~]?                              # two characters, and an escape alone
    | (?<=^…)\[[\d;]+m                              # the end of one that was cut off
    """,
    re.VERBOSE,
)


def strip_escapes(snippet: Snippet) -> Snippet:
    """Return a snippet without terminal escapes; its marks stay with what they mark."""
    found = [match.span() for match in _ESCAPE.finditer(snippet.text)]
    if not found:
        return snippet
    starts = [start for start, _ in found]
    gone = [0, *accumulate(end - start for start, end in found)]

    def move(place: int) -> int:
        before = bisect_right(starts, place)
        inside = max(0, found[before - 1][1] - place) if before else 0
        return place - gone[before] + inside

    marks = [(move(start), move(end)) for start, end in snippet.marks]
    return Snippet(_ESCAPE.sub("", snippet.text), tuple(mark for mark in marks if mark[0] < mark[1]))


_PATIENCE = 30.0
"""Seconds; a scan of everything takes a few on a large archive."""
_Owners = dict[str, SessionAccess]
"""Whose sessions are whose, by their keys."""


@get("/api/search")
async def search(
    requester: audit.GivenRequester,
    q: Annotated[str, query("The query, as described in docs/guide.md.", min_length=1, max_length=LONGEST)],
    order: Annotated[SearchOrder, query("The order.")] = SearchOrder.NEWEST,
    limit: Annotated[int, requests.integer("The maximum number of hits.", least=1, most=100)] = 20,
    cursor: Annotated[
        str | None, query("Where to continue: `next` from the previous response.", max_length=200)
    ] = None,
    typing: Annotated[bool, query("Whether the last word may be incomplete.")] = False,
) -> Hits:
    """Find passages, each with its exact message. `person:me` is the caller."""
    query, name = parse_query(q, typing=typing), requester.caller.name
    query = query if name is None else replace(query, root=_name_me(query.root, name))
    gone, deadline = threading.Event(), time.monotonic() + _PATIENCE
    ask = partial(
        requester.store.search,
        requester.visible,
        query,
        order=order,
        limit=limit,
        cursor=cursor,
        cancelled=lambda: gone.is_set() or time.monotonic() > deadline,
    )
    # No task group: it would wrap whatever the search raises.
    watch = asyncio.create_task(_notice_leaving(requester.request, gone))
    try:
        page = await to_thread.run_sync(ask, abandon_on_cancel=True)
        owners: _Owners = {}
        if requester.caller.kind is not CallerKind.OPERATOR:
            owners = await to_thread.run_sync(_note_found, requester, page)
        items = tuple(_view(hit, owners.get(hit.session or "")) for hit in page.hits)
        return Hits(
            items=items, next=page.next, unreadable=page.unreadable, index_backlog=page.backlog or UNSET
        )
    except SearchCancelledError:
        raise RequestError(503, "too_slow", "The search took too long; narrow it down") from None
    finally:
        gone.set()
        watch.cancel()


async def _notice_leaving(request: Request[Any, Any, Any], gone: threading.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()


def _note_found(requester: audit.Requester, page: SearchPage) -> _Owners:
    """Record the sessions that are about to be shown, known from files or hooks, and return their owners."""
    keys = dict.fromkeys(hit.session for hit in page.hits if hit.session is not None)
    owners = {access.key: access for access in requester.store.list_access(requester.visible, keys)}
    looks = [audit.ViewedSession(key, owners[key].person if key in owners else None) for key in keys]
    requester.record_views(looks, Action.SEARCHED)
    for session_id in dict.fromkeys(hit.session_id for hit in page.hits if hit.session is None):
        requester.has_deliveries(session_id, Action.SEARCHED)
    return owners


def _name_me(node: Node, name: str) -> Node:
    match node:
        case Filter(name="person"):
            return replace(node, values=tuple(name if each == ME else each for each in node.values))
        case Not():
            return replace(node, part=_name_me(node.part, name))
        case And() | Or():
            return replace(node, parts=tuple(_name_me(part, name) for part in node.parts))
    return node


def _view(hit: Found, owner: SessionAccess | None) -> Hit:
    snippet = strip_escapes(hit.snippet)
    return fill_clean(
        Hit,
        hit,
        kind=PassageKind(hit.kind),
        title=None if hit.title is None else one_line(hit.title),
        message_uuid=hit.message_id,
        role=None if hit.role is None else Role(hit.role),
        created_at=find_moment(hit.time),
        snippet=snippet.text,
        marks=tuple(Mark(start=start, end=end) for start, end in snippet.marks),
        person=UNSET if owner is None else owner.person,
        machine=UNSET if owner is None else owner.origin,
    )
