"""`/api/projects`, `/api/sessions` and `/api/usage`: what is asked across sessions, and the marks of one.

Which sessions are meant is said by parameters that several routes share:

    @get(…, dependencies=_SESSION_FILTER, sync_to_thread=True)
    def list_sessions(store: GivenStore, visible: GivenScope, asked: GivenFilter, …)

Money in usage reports is text, digit for digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any

from litestar import Request, get, patch
from litestar.di import NamedDependency, Provide
from litestar.params import JSONBody, RawBody, SkipValidation
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from turnlog.server.audit import GivenSession, get_session
from turnlog.server.errors import ErrorDetail, InvalidRequestError
from turnlog.server.requests import (
    Cursor,
    GivenScope,
    GivenStore,
    Limit,
    check_unchanged,
    decode_body,
    find_next,
    integer,
    parse_moment,
    query,
)
from turnlog.server.security.callers import LINKED, GivenCaller
from turnlog.server.sessions import (
    Marks,
    Projects,
    SessionFacets,
    SessionItem,
    SessionPage,
    view_facets,
    view_project,
    view_session,
)
from turnlog.server.state_watch import GivenWatch
from turnlog.server.values import build_resume, clean_text
from turnlog.shapes import fill
from turnlog.store.lists import (
    LONGEST_NAME,
    LONGEST_NOTE,
    MOST_TAGS,
    MarkChange,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
)
from turnlog.store.model import Visibility
from turnlog.store.usage_cells import Span, find_zone
from turnlog.store.usage_report import Breakdown, Grouping, UsageQuery, UsageReport, build_report

ME = "me"
"""Stands for whoever asks."""

GivenFilter = NamedDependency[SkipValidation[SessionFilter]]
"""Parameter `asked`: which sessions are meant."""


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
) -> SessionFilter:
    """Return which sessions are meant; raises `InvalidRequestError` for a time that is none."""
    return SessionFilter(
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
        since=parse_moment("since", since),
        until=parse_moment("until", until),
    )


_SESSION_FILTER: Mapping[str, Provide] = {"asked": Provide(_build_filter, sync_to_thread=False)}


class SessionDetail(Struct, frozen=True, gc=False, kw_only=True):
    """An overview of a session."""

    session: SessionItem
    path: str
    """Where its transcript was last seen."""
    resume: str | None
    """The command that resumes it; None if its id does not look valid."""
    summary: Raw
    """`transcripts.Summary` as JSON."""
    messages: int
    """Messages in the transcript."""


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
    text: Annotated[str | None, query("Part of the path.", max_length=500)] = None,
    sort: Annotated[ProjectOrder, query("The order.")] = ProjectOrder.NEWEST,
    limit: Annotated[int, integer("The maximum number of projects.", least=1, most=5000)] = 1000,
    cursor: Cursor = 0,
) -> Projects:
    """List the folders in which Claude Code worked, each with the usage of its sessions."""
    check_unchanged(request, store.read_feed(visible).last)
    found = store.list_projects(visible, text=text, order=sort)
    items = tuple(map(view_project, found[cursor : cursor + limit]))
    return Projects(items=items, total=len(found), next=find_next(cursor, items, len(found)))


@get("/api/sessions", dependencies=_SESSION_FILTER, sync_to_thread=True)
def list_sessions(
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
    asked: GivenFilter,
    watch: GivenWatch,
    sort: Annotated[SessionOrder, query("The order.")] = SessionOrder.NEWEST,
    limit: Limit = 100,
    cursor: Annotated[
        str | None, query("Where to continue: `next` from the previous response.", max_length=2000)
    ] = None,
    grouped: Annotated[
        bool, query("Of three or more sessions that programs started with the same prompt, only the first.")
    ] = False,
) -> SessionPage:
    """List sessions, newest first by default."""
    last = store.read_feed(visible).last
    page = store.list_sessions(visible, asked, order=sort, limit=limit, cursor=cursor, grouped=grouped)
    items = tuple(map(view_session, page.sessions, watch.find_states(page.sessions)))
    # What a session does changes also with the time, and when its process ends.
    check_unchanged(request, last, *(item.state for item in items))
    return SessionPage(items=items, total=page.total, rows=page.rows, next=page.next)


@get("/api/sessions/facets", dependencies=_SESSION_FILTER, sync_to_thread=True)
def list_facets(
    request: Request[Any, Any, Any], store: GivenStore, visible: GivenScope, asked: GivenFilter
) -> SessionFacets:
    """List the models, branches and tags of sessions, most frequent first."""
    check_unchanged(request, store.read_feed(visible).last)
    return view_facets(store.list_facets(visible, asked))


@get("/api/sessions/{id:str}", opt=LINKED, sync_to_thread=True)
def get_session_detail(
    asked: GivenSession,
    watch: GivenWatch,
) -> SessionDetail:
    """Return what is known of a session at a glance."""
    session = asked.get()
    last = asked.store.read_feed(asked.visible).last
    item = view_session(session, watch.find_state(session))
    if asked.visit.caller.link is not None:  # strangers see what was said, and not by whom
        item = replace(item, person=None, machine="", series=None)
    check_unchanged(asked.request, session.key, last, item.state)
    return SessionDetail(
        session=item,
        path=clean_text(session.path),
        resume=build_resume(item.session_id, item.project),
        summary=Raw(session.row.summary),
        messages=session.row.messages,
    )


@patch("/api/sessions/{id:str}/marks", sync_to_thread=True)
def change_marks(
    asked: GivenSession,
    data: JSONBody[MarksChange],
    body: RawBody,
) -> Marks:
    """Name a session, tag it, star it, add a note, or hide it from lists."""
    wanted = decode_body(body, MarksChange)
    session = asked.get_own("Only the owner and admins can mark this session")
    change = MarkChange(
        name=wanted.name,
        note=wanted.note,
        starred=wanted.starred,
        archived=wanted.archived,
        tags=wanted.add_tags,
        untags=wanted.remove_tags,
    )
    asked.store.mark(asked.visible, [session.key], change)
    return fill(Marks, get_session(asked.store, asked.visible, session.key, asked.visit).marks)


@get("/api/usage", sync_to_thread=True)
def get_usage(
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
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
        integer(
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
        check_unchanged(request, store.read_feed(visible).last)
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
    return build_report(store.read_usage(visible), query)
