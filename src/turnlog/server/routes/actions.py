"""`/api/sessions/{id}/actions`: every call and event in order, from files and from hooks, with its outcome."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from litestar import get
from msgspec import Struct

from turnlog.instants import find_moment
from turnlog.messages import Line
from turnlog.server.audit import GivenSession
from turnlog.server.errors import InvalidRequestError
from turnlog.server.requests import (
    LARGEST,
    Categories,
    check_unchanged,
    integer,
    query,
)
from turnlog.server.routes.timeline import list_runs
from turnlog.server.security.callers import LINKED
from turnlog.server.values import Memo, clean_text, fit, head_of, read_each, view
from turnlog.transcripts.actions import ActionState, HookRun, describe_event, describe_runs
from turnlog.transcripts.hooks import HookDelivery
from turnlog.transcripts.kinds import CallState, Category, topic_of
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.sessions import Action as ActionRecord
from turnlog.transcripts.queries.sessions import (
    ActionFilter,
    ActionKind,
    ActionPoint,
    ActionTally,
    HookPlace,
    SessionActions,
    TimeSpan,
)
from turnlog.transcripts.queries.threads import build_call
from turnlog.transcripts.segment_builder import time_of
from turnlog.transcripts.segments import CallRecord, EventRecord


class ActionsOrder(StrEnum):
    """In which order actions come."""

    ORDER = "order"
    """As they happened."""
    SLOWEST = "slowest"


class Action(Struct, frozen=True, gc=False, kw_only=True):
    """A call, a hook event, or another event that a line of a file reports."""

    index: int
    """Its position among the requested actions, from 0."""
    kind: Literal["call", "hook", "event"]
    category: Category
    at: datetime | None
    name: str
    """The name of the tool, the hook event, or the line's type."""
    title: str
    """What it is about."""
    outcome: str
    """The outcome, in a few words; empty if there is nothing to report."""
    state: ActionState
    duration_ms: int | None
    turn: int | None
    """The index of the turn that it belongs to; null before the first prompt."""
    message: int | None
    """The index of the message that it is in or under, in `source`; null if there is none."""
    message_uuid: str | None
    """The uuid of that message."""
    source: str | None
    """The file that it is in; null for hook events that belong to no file."""
    call: int | None
    """The index of the call, in `source`."""
    agent_id: str | None
    """The sub-agent that did it."""


class ActionSpan(Struct, frozen=True, gc=False, kw_only=True, rename={"since": "from", "until": "to"}):
    """What happened in an interval of time."""

    since: datetime
    until: datetime
    """Not any more in it."""
    actions: int
    failed: int


class ActionPage(Struct, frozen=True, gc=False, kw_only=True):
    """A page of a session's actions, and an overview of all of them."""

    items: tuple[Action, ...]
    total: int
    """The number of requested actions."""
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    counts: dict[Category, int]
    """How many actions of each category the session has, ignoring filters."""
    names: dict[str, int]
    """How many there are of each name (tools, hook events, line types), ignoring filters."""
    failed: int
    """How many of all actions failed."""
    overview: tuple[ActionSpan, ...]
    """All actions over time, in at most 120 intervals of equal length; empty intervals are left out."""
    revision: int
    """The revision of the session; it increases when its files change."""


_OUTCOMES: Mapping[str, str] = {
    CallState.RESOLVED: "ok",
    CallState.FAILED: "failed",
    CallState.PLACEHOLDER: "continues in the background",
    CallState.REJECTED: "not allowed",
    CallState.INTERRUPTED: "interrupted",
    CallState.UNRESOLVED: "no result",
}
_LIVE: Mapping[str, str] = {ActionState.RUNNING: "running", ActionState.WAITING: "waits for you"}
_LONGEST_OUTCOME = 120
_TALLIES: Memo[ActionTally] = Memo(32)
"""All actions of sessions at a glance: pages share it."""


class _Found(Struct, frozen=True):
    """An action with what is kept of it: a call or an event and the file that has it, or a delivery."""

    action: ActionRecord
    chapter: Chapter | None = None
    record: CallRecord | EventRecord | None = None

    @property
    def lines(self) -> list[int]:
        """The lines that it is told from; of calls the result only where it says what went wrong."""
        record = self.record
        if record is None:
            return []
        if isinstance(record, CallRecord) and record.state == CallState.FAILED:
            return [*{record.line, record.line if record.result_line is None else record.result_line}]
        return [record.line]


class _Told(Struct, frozen=True, gc=False):
    """Where an action is, and what it is about."""

    source: str | None
    message: int | None
    title: str
    outcome: str
    at: int | None = None
    """When it was, if that is known."""
    call: int | None = None
    agent_id: str | None = None


def _view_actions(
    session: SessionActions, project: str | None, actions: Sequence[ActionRecord], first: int
) -> tuple[Action, ...]:
    """Return actions with what they are about; only the first, if their lines are very long together."""
    found = [_find(session, action) for action in actions]
    found = [*fit(found, lambda each: 0 if each.chapter is None else each.chapter.measure(each.lines))]
    lines = read_each((each.chapter, each.lines) for each in found if each.chapter is not None)
    hooks = session.list_hooks_at([each.action.number for each in found if each.action.kind is ActionKind.HOOK])
    facts, runs = {hook.id: hook for hook in hooks}, list_runs(session, hooks)
    places = session.find_hook_places(hooks)
    turns = session.find_turns(each.action.point.at for each in found)
    shown: list[Action] = []
    for index, each in enumerate(found, first):
        action, chapter = each.action, each.chapter
        if action.kind is ActionKind.HOOK:
            number = action.number
            told = _tell_hook(facts.get(number), places.get(number), runs.get(number, ()))
        elif chapter is None or each.record is None:
            call = action.number if action.kind is ActionKind.CALL else None
            told = _Told(action.point.name, None, "", "", call=call)
        elif isinstance(each.record, CallRecord):
            told = _tell_call(chapter, each.record, lines[chapter], action.state, project)
        else:
            told = _tell_event(chapter, each.record, lines[chapter][each.record.line])
        shown.append(_view(session, action, told, index, turns))
    return tuple(shown)


def _find(session: SessionActions, action: ActionRecord) -> _Found:
    chapter = None if action.kind is ActionKind.HOOK else session.find_chapter(action.point.name)
    if chapter is None:
        return _Found(action)
    number = [action.number]
    is_call = action.kind is ActionKind.CALL
    records = chapter.list_calls_at(number) if is_call else chapter.list_events_at(number)
    return _Found(action, chapter, records[0] if records else None)


def _view(
    session: SessionActions, action: ActionRecord, told: _Told, index: int, turns: Mapping[int, int]
) -> Action:
    chapter = None if told.source is None else session.find_chapter(told.source)
    rows = [] if chapter is None or told.message is None else chapter.list_at([told.message])
    row = rows[0] if rows else None
    turn = None if row is None else row.turn
    agent = told.agent_id or (None if row is None else row.agent_id)
    return view(
        Action,
        action,
        told,
        index=index,
        kind=action.kind.value,
        category=Category(action.category),
        at=find_moment(told.at),
        title=head_of(told.title),
        outcome=head_of(told.outcome)[:_LONGEST_OUTCOME],
        state=ActionState(action.state),
        turn=turns.get(action.point.at) if turn is None else turn,
        message_uuid=None if row is None else row.id,
        agent_id=agent,
    )


def _tell_call(
    chapter: Chapter, record: CallRecord, lines: Mapping[int, Line], state: str, project: str | None
) -> _Told:
    call = build_call(record, lines)
    outcome = _LIVE.get(state) or _OUTCOMES.get(record.state, record.state)
    if record.state == CallState.FAILED and call.result is not None:
        outcome = call.result.text.strip().partition("\n")[0] or outcome
    title = topic_of(call.name, call.block.input, project)
    return _Told(chapter.source, record.message, title, outcome, record.started, record.index)


def _tell_event(chapter: Chapter, record: EventRecord, line: Line) -> _Told:
    title, outcome = describe_event(line.entry)
    return _Told(chapter.source, record.message, title, outcome, time_of(line))


def _tell_hook(fact: HookDelivery | None, place: HookPlace | None, runs: Sequence[HookRun]) -> _Told:
    commands, outcome = describe_runs(tuple(runs))
    label = "" if fact is None else fact.label or ""
    return _Told(
        None if place is None else place.source,
        None if place is None else place.message,
        commands or label,
        outcome,
        None if fact is None else fact.received_ns // 1000,
        agent_id=None if fact is None else fact.agent_id,
    )


_MOST_SPANS = 120


class _Cursor(Struct, frozen=True, gc=False, array_like=True):
    """Behind which action a page begins."""

    index: int
    """Of the first on the page."""
    point: ActionPoint
    duration_ms: int | None


_decode = msgspec.json.Decoder(_Cursor).decode


@get("/api/sessions/{id:str}/actions", opt=LINKED, sync_to_thread=True)
def list_actions(
    asked: GivenSession,
    category: Categories = None,
    outcome: Annotated[list[ActionState] | None, query("Their outcome.", max_items=20)] = None,
    name: Annotated[
        str | None, query("The name of the tool, the hook event, or the line's type.", max_length=200)
    ] = None,
    min_ms: Annotated[int | None, integer("Only actions that took at least this many milliseconds.")] = None,
    sort: Annotated[ActionsOrder, query("The order.")] = ActionsOrder.ORDER,
    limit: Annotated[int, integer("The maximum number of actions.", least=1, most=200)] = 100,
    cursor: Annotated[
        str | None, query("Where to continue: `next` from the previous response.", max_length=200)
    ] = None,
) -> ActionPage:
    """List the actions of a session: calls of all agents, hook events, and other events.

    Calls and events are in file order; several files and hook events are merged by time. Slowest first, only
    actions with a known duration are listed. This also works for sessions known only from hooks. Copied lines,
    and text that the program inserted as the user, are left out.

    A call without a result is `running` if its last hook event says that it began, `waiting` if that event
    requested a permission, and `unresolved` otherwise. A hook event has failed if one of its commands has; a
    failed call is counted once, as the call itself.
    """
    heard = asked.get_heard()
    last_change = asked.store.read_feed(asked.visible).last
    check_unchanged(asked.request, heard.key, heard.revision, last_change)
    where = ActionFilter(
        categories=None if category is None else tuple(each.value for each in category),
        states=None if outcome is None else tuple(each.value for each in outcome),
        name=name,
        min_ms=0 if min_ms is None and sort is ActionsOrder.SLOWEST else min_ms,
    )
    begin = None if cursor is None else _read_cursor(cursor)
    with asked.store.open_session(asked.visible, heard.key, hooks=heard.hooks) as session:
        actions = session.list_actions(
            where,
            after=None if begin is None else begin.point,
            after_ms=None if begin is None else begin.duration_ms,
            slowest=sort is ActionsOrder.SLOWEST,
            count=limit + 1,
        )
        project = None if heard.stored is None else heard.stored.row.project
        items = _view_actions(session, project, actions[:limit], 0 if begin is None else begin.index)
        tally = _TALLIES.recall(
            asked.store,
            (asked.visible, heard.key, last_change, where),
            lambda: session.tally_actions(where, spans=_MOST_SPANS),
        )
    return ActionPage(
        items=items,
        total=tally.total,
        next=_write_cursor(items, actions) if len(items) < len(actions) else None,
        counts={Category(name): count for name, count in tally.counts.items()},
        names={clean_text(name): count for name, count in tally.names.items()},
        failed=tally.failed,
        overview=tuple(_view_spans(tally.spans)),
        revision=heard.revision,
    )


def _read_cursor(text: str) -> _Cursor:
    try:
        found = _decode(b64decode(text.encode(), altchars=b"-_", validate=True))
    except (ValueError, msgspec.MsgspecError):
        raise InvalidRequestError("This cursor is not from this server") from None
    numbers = (found.index, found.duration_ms or 0, *(found.point.at, found.point.line, found.point.part))
    if not all(-LARGEST <= number <= LARGEST for number in numbers):
        raise InvalidRequestError("This cursor is not from this server")
    return found


def _write_cursor(items: Sequence[Action], actions: Sequence[ActionRecord]) -> str:
    last = actions[len(items) - 1]
    cursor = _Cursor(items[-1].index + 1, last.point, last.duration_ms)
    return b64encode(msgspec.json.encode(cursor), altchars=b"-_").decode()


def _view_spans(spans: Sequence[TimeSpan]) -> Iterator[ActionSpan]:
    for span in spans:
        since, until = find_moment(span.since), find_moment(span.until)
        if since is not None and until is not None:
            yield ActionSpan(since=since, until=until, actions=span.actions, failed=span.failed)
