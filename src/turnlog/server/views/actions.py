"""Actions as the API tells them: outlines, and what their lines and deliveries say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from turnlog.ingest.facts import time_of
from turnlog.messages import Line
from turnlog.server.shapes.actions import Action
from turnlog.server.views.hook_items import HookSession, list_runs
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.moments import moment
from turnlog.server.views.stretches import fit
from turnlog.server.views.windows import read_places
from turnlog.store.actions import ActionKind, ActionOutline
from turnlog.store.identity import Place
from turnlog.store.rows import CallRow, MessageRow
from turnlog.store.timeline import EventFact, HookFact, HookPlace
from turnlog.transcripts.actions.states import ActionState
from turnlog.transcripts.actions.telling import tell_event, tell_runs
from turnlog.transcripts.calls.builder import build_calls
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.calls.topics import topic_of
from turnlog.transcripts.hooks.lines import HookRun
from turnlog.transcripts.lines.categories import Category

__all__ = ["view_actions"]

_Key = tuple[str, int]
"""A file, and the number of a call, a line or a message in it."""
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


class _Page(Struct, frozen=True):
    """What the actions of a page are told with."""

    calls: Mapping[_Key, CallRow]
    events: Mapping[_Key, EventFact]
    hooks: Mapping[int, HookFact]
    runs: Mapping[int, Sequence[HookRun]]
    places: Mapping[int, HookPlace]
    lines: Mapping[Place, Line]
    messages: Mapping[_Key, MessageRow]
    turns: Mapping[int, int]
    project: str | None


class _Where(Struct, frozen=True, gc=False):
    """Where an action stands, and what it says."""

    source: str | None
    message: int | None
    title: str
    outcome: str
    at: int | None = None
    """When it was, if that is known."""
    call: int | None = None
    agent_id: str | None = None


def view_actions(
    session: HookSession, project: str | None, outlines: Sequence[ActionOutline], first: int
) -> tuple[Action, ...]:
    """Return actions with what they are about; only the first, if their lines are very long together."""
    calls = _list_calls(session, outlines)
    events = _list_events(session, outlines)
    outlines = fit(session.store, session.scope, outlines, lambda each: _list_places(each, calls, events))
    ids = [each.number for each in outlines if each.kind is ActionKind.HOOK]
    hooks = session.store.list_hooks_at(session.scope, session.id, ids) if ids else []
    places = session.store.find_hook_places(session.scope, session.key, session.id, ids) if ids else {}
    wanted = [place for each in outlines for place in _list_places(each, calls, events)]
    page = _Page(
        calls=calls,
        events=events,
        hooks={hook.id: hook for hook in hooks},
        runs=list_runs(session, hooks),
        places=places,
        lines=read_places(session.store, session.scope, wanted),
        messages=_list_messages(session, outlines, calls, events, places),
        turns=session.store.find_turns(session.scope, session.key, [each.point.at for each in outlines]),
        project=project,
    )
    return tuple(_view(outline, page, first + number) for number, outline in enumerate(outlines))


def _view(outline: ActionOutline, page: _Page, index: int) -> Action:
    where = _TELLERS[outline.kind](outline, page)
    known = None if where.source is None or where.message is None else (where.source, where.message)
    row = None if known is None else page.messages.get(known)
    turn = None if row is None else row.turn
    agent = where.agent_id or (None if row is None else row.agent_id)
    return Action(
        index=index,
        kind=outline.kind.value,
        category=Category(outline.category),
        at=moment(where.at),
        name=sayable(outline.name),
        title=head_of(where.title),
        outcome=head_of(where.outcome)[:_LONGEST_OUTCOME],
        state=ActionState(outline.state),
        duration_ms=outline.duration_ms,
        turn=page.turns.get(outline.point.at) if turn is None else turn,
        message=where.message,
        message_uuid=None if row is None else sayable(row.id),
        source=where.source,
        call=where.call,
        agent_id=say(agent),
    )


def _tell_call(outline: ActionOutline, page: _Page) -> _Where:
    row = page.calls.get((outline.point.name, outline.number))
    if row is None:
        return _Where(outline.point.name, None, "", "", call=outline.number)
    call = _build_call(row, page.lines)
    given = None if call is None else call.block.input
    title = "" if call is None else topic_of(call.name, given, page.project)
    outcome = _LIVE.get(outline.state) or _OUTCOMES.get(row.state, row.state)
    if row.state == CallState.FAILED and call is not None and call.result is not None:
        outcome = call.result.text.strip().partition("\n")[0] or outcome
    return _Where(row.source, row.message, title, outcome, row.started, row.index)


def _tell_event(outline: ActionOutline, page: _Page) -> _Where:
    fact = page.events.get((outline.point.name, outline.number))
    if fact is None:
        return _Where(outline.point.name, None, "", "")
    line = page.lines[fact.place]
    title, outcome = tell_event(line.entry)
    return _Where(fact.row.source, fact.row.message, title, outcome, time_of(line))


def _tell_hook(outline: ActionOutline, page: _Page) -> _Where:
    fact, place = page.hooks.get(outline.number), page.places.get(outline.number)
    runs = page.runs.get(outline.number, ())
    commands, outcome = tell_runs(tuple(runs))
    label = "" if fact is None else fact.label or ""
    return _Where(
        None if place is None else place.source,
        None if place is None else place.message,
        commands or label,
        outcome,
        None if fact is None else fact.received_ns // 1000,
        agent_id=None if fact is None else fact.agent_id,
    )


_TELLERS = {ActionKind.CALL: _tell_call, ActionKind.EVENT: _tell_event, ActionKind.HOOK: _tell_hook}


def _build_call(row: CallRow, lines: Mapping[Place, Line]) -> Call | None:
    places = dict.fromkeys(place for place in (row.at, row.result_at) if place in lines)
    calls = build_calls([lines[place] for place in places if place is not None]).calls
    line = lines.get(row.at)
    return next((call for call in calls if call.place.line is line and call.place.index == row.block), None)


def _list_calls(session: HookSession, outlines: Sequence[ActionOutline]) -> dict[_Key, CallRow]:
    wanted: dict[str, list[int]] = {}
    for each in outlines:
        if each.kind is ActionKind.CALL:
            wanted.setdefault(each.point.name, []).append(each.number)
    return {
        (row.source, row.index): row
        for source, indexes in wanted.items()
        for row in session.store.list_calls_at(session.scope, session.key, indexes, source=source)
    }


def _list_events(session: HookSession, outlines: Sequence[ActionOutline]) -> dict[_Key, EventFact]:
    wanted = [(each.point.name, each.number) for each in outlines if each.kind is ActionKind.EVENT]
    found = session.store.list_events_at(session.scope, session.key, wanted) if wanted else []
    return {(fact.row.source, fact.row.index): fact for fact in found}


def _list_messages(
    session: HookSession,
    outlines: Sequence[ActionOutline],
    calls: Mapping[_Key, CallRow],
    events: Mapping[_Key, EventFact],
    places: Mapping[int, HookPlace],
) -> dict[_Key, MessageRow]:
    wanted: dict[str, set[int]] = {}
    for each in outlines:
        key = each.point.name, each.number
        row = calls.get(key) if each.kind is ActionKind.CALL else None
        fact = events.get(key) if each.kind is ActionKind.EVENT else None
        place = places.get(each.number) if each.kind is ActionKind.HOOK else None
        source = each.point.name if place is None else place.source
        found = row or (None if fact is None else fact.row) or place
        if found is not None and found.message is not None and source is not None:
            wanted.setdefault(source, set()).add(found.message)
    return {
        (row.source, row.index): row
        for source, indexes in wanted.items()
        for row in session.store.list_at(session.scope, session.key, sorted(indexes), source=source)
    }


def _list_places(
    outline: ActionOutline, calls: Mapping[_Key, CallRow], events: Mapping[_Key, EventFact]
) -> list[Place]:
    """Return the lines that an action is told from; of calls the result only where it says what went wrong."""
    key = outline.point.name, outline.number
    if outline.kind is ActionKind.EVENT and key in events:
        return [events[key].place]
    if outline.kind is ActionKind.CALL and key in calls:
        row = calls[key]
        failed = row.result_at if row.state == CallState.FAILED else None
        return [row.at, *([] if failed is None or failed == row.at else [failed])]
    return []
