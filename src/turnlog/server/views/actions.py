"""Actions as the API tells them: what happened, what their lines and deliveries say, and all at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from turnlog.messages import Line
from turnlog.server.shapes.actions import Action as Shown
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.lines import fit, read_each
from turnlog.server.views.memos import Memo
from turnlog.server.views.moments import moment
from turnlog.server.views.timeline import list_runs
from turnlog.transcripts.actions import ActionState, tell_event, tell_runs
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.calls.topics import topic_of
from turnlog.transcripts.hooks.deliveries import HookDelivery
from turnlog.transcripts.hooks.lines import HookRun
from turnlog.transcripts.lines.kinds import Category
from turnlog.transcripts.queries.actions import Action, ActionKind, ActionTally, SessionActions
from turnlog.transcripts.queries.bodies import build_call
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.timeline import HookPlace
from turnlog.transcripts.records import CallRecord, EventRecord
from turnlog.transcripts.segment_builder import time_of

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
TALLIES: Memo[ActionTally] = Memo(32)
"""All actions of sessions at a glance: pages share it."""


class _Found(Struct, frozen=True):
    """An action with what is kept of it: a call or an event and the file that has it, or a delivery."""

    action: Action
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
    session: SessionActions, project: str | None, actions: Sequence[Action], first: int
) -> tuple[Shown, ...]:
    """Return actions with what they are about; only the first, if their lines are very long together."""
    found = [_find(session, action) for action in actions]
    found = [*fit(found, lambda each: 0 if each.chapter is None else each.chapter.measure(each.lines))]
    lines = read_each((each.chapter, each.lines) for each in found if each.chapter is not None)
    hooks = session.list_hooks_at([each.action.number for each in found if each.action.kind is ActionKind.HOOK])
    facts, runs = {hook.id: hook for hook in hooks}, list_runs(session, hooks)
    places = session.find_hook_places(hooks)
    turns = session.find_turns(each.action.point.at for each in found)
    shown: list[Shown] = []
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


def _find(session: SessionActions, action: Action) -> _Found:
    chapter = None if action.kind is ActionKind.HOOK else session.find_chapter(action.point.name)
    if chapter is None:
        return _Found(action)
    number = [action.number]
    is_call = action.kind is ActionKind.CALL
    records = chapter.list_calls_at(number) if is_call else chapter.list_events_at(number)
    return _Found(action, chapter, records[0] if records else None)


def _view(session: SessionActions, action: Action, told: _Told, index: int, turns: Mapping[int, int]) -> Shown:
    chapter = None if told.source is None else session.find_chapter(told.source)
    rows = [] if chapter is None or told.message is None else chapter.list_at([told.message])
    row = rows[0] if rows else None
    turn = None if row is None else row.turn
    agent = told.agent_id or (None if row is None else row.agent_id)
    return Shown(
        index=index,
        kind=action.kind.value,
        category=Category(action.category),
        at=moment(told.at),
        name=sayable(action.name),
        title=head_of(told.title),
        outcome=head_of(told.outcome)[:_LONGEST_OUTCOME],
        state=ActionState(action.state),
        duration_ms=action.duration_ms,
        turn=turns.get(action.point.at) if turn is None else turn,
        message=told.message,
        message_uuid=None if row is None else sayable(row.id),
        source=told.source,
        call=told.call,
        agent_id=say(agent),
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
    title, outcome = tell_event(line.entry)
    return _Told(chapter.source, record.message, title, outcome, time_of(line))


def _tell_hook(fact: HookDelivery | None, place: HookPlace | None, runs: Sequence[HookRun]) -> _Told:
    commands, outcome = tell_runs(tuple(runs))
    label = "" if fact is None else fact.label or ""
    return _Told(
        None if place is None else place.source,
        None if place is None else place.message,
        commands or label,
        outcome,
        None if fact is None else fact.received_ns // 1000,
        agent_id=None if fact is None else fact.agent_id,
    )
