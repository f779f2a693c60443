"""`/api/search`: everything that was ever said. A search ends when its caller is gone.

Snippets come without terminal escapes: colours, movements of the cursor, titles of windows.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from bisect import bisect_right
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import Annotated, Any

from anyio import to_thread
from litestar import Request, get
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from turnlog.errors import SearchCancelledError
from turnlog.instants import find_moment
from turnlog.server.audit import GivenVisit, Look, Visit, has_deliveries
from turnlog.server.errors import RequestError
from turnlog.server.requests import GivenScope, GivenStore, integer, query
from turnlog.server.routes.sessions import ME
from turnlog.server.security.callers import CallerKind
from turnlog.server.values import head_of, view
from turnlog.store.account_model import Action
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import Scope, SessionAccess
from turnlog.store.search.language import LONGEST, And, Filter, Node, Not, Or, parse_query
from turnlog.store.search.matcher import Snippet
from turnlog.store.search.paging import Hit as Found
from turnlog.store.search.paging import SearchOrder, SearchPage
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.lines.passages import PassageKind


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
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    q: Annotated[str, query("The query, as described in docs/guide.md.", min_length=1, max_length=LONGEST)],
    order: Annotated[SearchOrder, query("The order.")] = SearchOrder.NEWEST,
    limit: Annotated[int, integer("The maximum number of hits.", least=1, most=100)] = 20,
    cursor: Annotated[
        str | None, query("Where to continue: `next` from the previous response.", max_length=200)
    ] = None,
    typing: Annotated[bool, query("Whether the last word may be incomplete.")] = False,
) -> Hits:
    """Find passages, each with its exact message. `person:me` is the caller."""
    query, name = parse_query(q, typing=typing), visit.caller.name
    query = query if name is None else replace(query, root=_name_me(query.root, name))
    gone, deadline = threading.Event(), time.monotonic() + _PATIENCE
    ask = partial(
        store.search,
        visible,
        query,
        order=order,
        limit=limit,
        cursor=cursor,
        cancelled=lambda: gone.is_set() or time.monotonic() > deadline,
    )
    # No task group: it would wrap whatever the search raises.
    watch = asyncio.create_task(_notice_leaving(request, gone))
    try:
        page = await to_thread.run_sync(ask, abandon_on_cancel=True)
        owners: _Owners = {}
        if visit.caller.kind is not CallerKind.OPERATOR:
            owners = await to_thread.run_sync(_note_found, store, visible, visit, page)
        items = tuple(_view(hit, owners.get(hit.session or "")) for hit in page.hits)
        return Hits(items=items, next=page.next, unreadable=page.unreadable)
    except SearchCancelledError:
        raise RequestError(503, "too_slow", "The search took too long; narrow it down") from None
    finally:
        gone.set()
        watch.cancel()


async def _notice_leaving(request: Request[Any, Any, Any], gone: threading.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()


def _note_found(store: MaintainedStore, visible: Scope, visit: Visit, page: SearchPage) -> _Owners:
    """Record and return whose sessions are about to be shown; of those only hooks told of, by whose hooks."""
    keys = dict.fromkeys(hit.session for hit in page.hits if hit.session is not None)
    owners = {access.key: access for access in store.list_access(visible, keys)}
    looks = [Look(key, owners[key].person if key in owners else None) for key in keys]
    visit.note(looks, Action.FOUND)
    for session_id in dict.fromkeys(hit.session_id for hit in page.hits if hit.session is None):
        has_deliveries(store, visible, session_id, visit, Action.FOUND)
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
    return view(
        Hit,
        hit,
        kind=PassageKind(hit.kind),
        title=None if hit.title is None else head_of(hit.title),
        message_uuid=hit.message_id,
        role=None if hit.role is None else Role(hit.role),
        created_at=find_moment(hit.time),
        snippet=snippet.text,
        marks=tuple(Mark(start=start, end=end) for start, end in snippet.marks),
        person=UNSET if owner is None else owner.person,
        machine=UNSET if owner is None else owner.origin,
    )
