"""`/api/sessions/{id}/calls` and `/sidechains`: every call in order, and the calls of each answer.

Sidechains are spec 003's second column: what was done, grouped under what was said. `transcripts.build_panel`
has the rule; here it is followed without reading a line.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from litestar import Request, get
from litestar.params import PathParameter, QueryParameter
from msgspec import Struct

from turnlog.server.audit import GivenVisit, get_session
from turnlog.server.calls import CallPage, CallViewer, view_call
from turnlog.server.errors import NotFoundError
from turnlog.server.requests import (
    Cursor,
    GivenScope,
    GivenStore,
    Limit,
    NamedSession,
    check_unchanged,
    find_next,
)
from turnlog.server.security.callers import LINKED
from turnlog.server.values import sayable, took_ms
from turnlog.server.windows import read_titles
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.conversation.message import Lane
from turnlog.transcripts.lines.kinds import Category, Role
from turnlog.transcripts.queries.chapters import CallFilter, Chapter
from turnlog.transcripts.records import CallRecord, MessageRecord


@get("/api/sessions/{id:str}/calls", opt=LINKED, sync_to_thread=True)
def list_calls(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    source: Annotated[
        str | None, QueryParameter(max_length=200, description="A file of the session; all files by default.")
    ] = None,
    category: Annotated[
        list[Category] | None, QueryParameter(max_items=20, description="The category of the action.")
    ] = None,
    call_state: Annotated[
        list[CallState] | None, QueryParameter(name="state", max_items=20, description="Its outcome.")
    ] = None,
    name: Annotated[str | None, QueryParameter(max_length=200, description="The tool's name.")] = None,
    bodies: Annotated[bool, QueryParameter(description="Whether to include inputs and results.")] = False,
    limit: Annotated[int, QueryParameter(ge=1, le=200, description="The maximum number of calls.")] = 100,
    cursor: Cursor = 0,
) -> CallPage:
    """List a session's tool calls: the transcript's, then those of each agent's file."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    where = CallFilter(
        categories=None if category is None else tuple(each.value for each in category),
        states=None if call_state is None else tuple(each.value for each in call_state),
        name=name,
    )
    with store.open_session(visible, session.key) as opened:
        found = opened.find_calls(where, source=source, first=cursor, count=limit)
        if bodies:
            items = CallViewer(store, visible, session).list_calls(found.calls)
        else:
            items = tuple(view_call(*each) for each in found.calls)
    return CallPage(items=items, total=found.total, next=find_next(cursor, items, found.total))


class Sidechain(Struct, frozen=True, gc=False, kw_only=True):
    """Operations under the answer that started them; they are loaded when it is opened."""

    message: int
    """The index of the answer."""
    message_uuid: str
    """Its uuid, with which the group is opened."""
    title: str
    """How the answer begins; empty if it only calls tools."""
    operations: int
    """How many calls there are."""
    failed: int
    duration_ms: int | None
    """From the first call to the last result."""
    categories: dict[Category, int]
    """How many calls there are of each category."""


class Sidechains(Struct, frozen=True, gc=False, kw_only=True):
    """A page of groups in a session's sidechain panel."""

    items: tuple[Sidechain, ...]
    total: int
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    revision: int


_HEADS = frozenset({Role.USER.value, Role.SUMMARY.value})
_AGENT, _ASSISTANT, _TOOL_USE = Lane.AGENT.value, Role.ASSISTANT.value, Role.TOOL_USE.value


class _Group(Struct, frozen=True):
    """What was done for one message."""

    head: int
    """The index of that message."""
    calls: list[CallRecord]


@get("/api/sessions/{id:str}/sidechains", opt=LINKED, sync_to_thread=True)
def list_sidechains(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    limit: Limit = 200,
    cursor: Cursor = 0,
) -> Sidechains:
    """List a session's tool calls, grouped under the answers that made them.

    The calls of a group are loaded when it is opened.
    """
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    with store.open_session(visible, session.key) as opened:
        main = opened.main
        groups = [] if main is None else _list_groups(main)
        chosen = groups[cursor : cursor + limit]
        heads = [] if main is None else main.list_at(each.head for each in chosen)
        titles = {} if main is None else read_titles(main, heads)
    found = {row.index: row for row in heads}
    items = tuple(_view(each, found[each.head], titles[each.head]) for each in chosen if each.head in titles)
    return Sidechains(
        items=items,
        total=len(groups),
        next=find_next(cursor, items, len(groups)),
        revision=session.revision,
    )


@get("/api/sessions/{id:str}/sidechains/{message_uuid:str}", opt=LINKED, sync_to_thread=True)
def list_sidechain_calls(
    request: Request[Any, Any, Any],
    id: NamedSession,
    message_uuid: Annotated[str, PathParameter(description="`message_uuid` of a group.")],
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    limit: Annotated[int, QueryParameter(ge=1, le=200, description="The maximum number of calls.")] = 100,
    cursor: Cursor = 0,
) -> CallPage:
    """List the calls of one group, with their inputs and results."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    with store.open_session(visible, session.key) as opened:
        main = opened.main
        head = None if main is None else main.find_message(message_uuid)
        groups = [] if main is None or head is None else _list_groups(main)
        group = next((each for each in groups if head is not None and each.head == head.index), None)
        if main is None or group is None:
            raise NotFoundError("There is no such sidechain")
        calls = [(main, call) for call in group.calls[cursor : cursor + limit]]
        items = CallViewer(store, visible, session).list_calls(calls)
    return CallPage(items=items, total=len(group.calls), next=find_next(cursor, items, len(group.calls)))


def _list_groups(main: Chapter) -> list[_Group]:
    """Return the groups of the main conversation, in the order of what they go with."""
    heads: dict[int, int] = {}
    for message in main.list_messages():
        head = _find_head(message, heads) if message.lane != _AGENT else None
        if head is not None:
            heads[message.index] = head
    done: dict[int, list[CallRecord]] = {}
    for call in main.list_calls():
        head = None if call.message is None else heads.get(call.message)
        if head is not None:
            done.setdefault(head, []).append(call)
    return [_Group(head, of_head) for head, of_head in sorted(done.items())]


def _find_head(message: MessageRecord, heads: dict[int, int]) -> int | None:
    if message.role == _ASSISTANT:
        return message.index
    if message.role in _HEADS:
        return None
    above = None if message.parent is None else heads.get(message.parent)
    return message.index if above is None and message.role == _TOOL_USE else above


def _view(group: _Group, head: MessageRecord, title: str) -> Sidechain:
    calls = group.calls
    started = min((call.started for call in calls if call.started is not None), default=None)
    ended = max((call.ended for call in calls if call.ended is not None), default=None)
    return Sidechain(
        message=group.head,
        message_uuid=sayable(head.id),
        title=title,
        operations=len(calls),
        failed=sum(call.state == CallState.FAILED for call in calls),
        duration_ms=took_ms(started, ended),
        categories=dict(sorted(Counter(Category(call.category) for call in calls).items())),
    )
