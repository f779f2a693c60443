"""The timeline and the action log by looking at everything: slow, and so plain that it is seen to be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from memory_session import is_event
from turnlog.testing.builders import FileRecords
from turnlog.transcripts.actions import CALL_STATES, FAILED_HOOKS, TOLD_FAILURES, ActionState
from turnlog.transcripts.hooks import HookDelivery, HookMention, match_lines
from turnlog.transcripts.kinds import CallState, Category
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.queries.sessions import (
    FIRST_EVENTS,
    PARENTS_EVENTS,
    Action,
    ActionFilter,
    ActionKind,
    ActionPoint,
    ActionTally,
    TimeSpan,
)
from turnlog.transcripts.segments import CallRecord, EventRecord

_ENDING_EVENTS = ("Stop", "StopFailure", "SessionEnd", "SessionStart")


class _Chapter(Struct, frozen=True):
    source: str
    is_main: bool
    agent_id: str | None
    records: FileRecords


class ScannedSession:
    """All records of a session's conversations, in their order, and all deliveries of its hooks."""

    def __init__(
        self, chapters: Mapping[ChapterFacts, FileRecords], hooks: Iterable[HookDelivery] = ()
    ) -> None:
        self.chapters = [
            _Chapter(facts.source, facts.is_main, facts.agent_id, records)
            for facts, records in chapters.items()
        ]
        found = sorted(hooks, key=lambda each: (each.received_ns, each.delivery_id))
        self._ends = [each for each in found if each.event_name in _ENDING_EVENTS]
        self.deliveries = [each for each in found if is_event(each)]

    def list_under(self, source: str) -> dict[int | None, list[str]]:
        """Return the ids of the deliveries under each message of a chapter."""
        [chapter] = [each for each in self.chapters if each.source == source]
        under: dict[int | None, list[tuple[bool, int, str]]] = {}
        for delivery in self.deliveries:
            for message, is_of_call in self._place(delivery, chapter):
                is_later = not (is_of_call and delivery.event_name in FIRST_EVENTS)
                under.setdefault(message, []).append((is_later, delivery.received_ns, delivery.delivery_id))
        return {message: [id for *_, id in sorted(found)] for message, found in under.items()}

    def find_place(self, delivery: HookDelivery) -> tuple[str, int | None]:
        """Return the chapter and the message that a delivery stands under."""
        found = [(each.source, *place) for each in self.chapters for place in self._place(delivery, each)]
        return found[0][:2]

    def list_actions(self, where: ActionFilter, slowest: bool = False) -> list[Action]:
        """Return the wanted actions in order."""
        found = [each for each in self._list_all() if _is_wanted(each, where)]
        if slowest:
            timed = [each for each in found if each.duration_ms is not None]
            return sorted(timed, key=lambda each: (-(each.duration_ms or 0), each.point))
        return sorted(found, key=lambda each: each.point)

    def tally(self, where: ActionFilter, spans: int) -> ActionTally:
        """Return all actions at a glance."""
        actions = [*self._list_all()]
        times = [at for at in self._list_times() if at > 0]
        first, last = min(times, default=0), max(times, default=0)
        width = max(-(-(last - first + 1) // spans), 1)
        timed = [each for each in actions if each.point.at > 0]
        number = Counter((each.point.at - first) // width for each in timed)
        failed = Counter((each.point.at - first) // width for each in timed if each.state == ActionState.FAILED)
        return ActionTally(
            total=sum(_is_wanted(each, where) for each in actions),
            counts=dict(sorted(Counter(each.category for each in actions).items())),
            names=dict(sorted(Counter(each.name for each in actions).items())),
            failed=sum(each.state == ActionState.FAILED for each in actions),
            spans=tuple(
                TimeSpan(first + at * width, first + (at + 1) * width, number[at], failed[at])
                for at in sorted(number)
            ),
        )

    def _place(self, delivery: HookDelivery, chapter: _Chapter) -> Iterator[tuple[int | None, bool]]:
        asked = delivery.tool_use_id
        callers = [
            (each.source, call.message)
            for each in self.chapters
            for call in each.records.calls
            if asked is not None and call.id == asked and call.message is not None
        ]
        if callers:
            yield from [(message, True) for source, message in callers if source == chapter.source][:1]
        elif self._find_speaker(delivery) == chapter.source:
            at = delivery.received_ns // 1000
            above = [each.index for each in chapter.records.messages if (each.reached or 0) <= at]
            yield (max(above) if above else None), False

    def _find_speaker(self, delivery: HookDelivery) -> str:
        agent = None if delivery.event_name in PARENTS_EVENTS else delivery.agent_id
        own = [each.source for each in self.chapters if agent is not None and each.agent_id == agent]
        return own[0] if own else self.chapters[0].source

    def match(self) -> dict[tuple[str, int], HookDelivery]:
        """Return the deliveries that lines tell of, by the chapters and numbers of the lines."""
        lines = [
            (each.source, row) for each in self.chapters for row in each.records.events if row.hook is not None
        ]
        told = [HookMention(row.hook or "", row.tool_use_id, row.time) for _, row in lines]
        deliveries = [
            HookMention(each.event_name, each.tool_use_id, each.received_ns // 1000, each.delivery_id)
            for each in self.deliveries
        ]
        found = match_lines(told, deliveries)
        return {(lines[at][0], lines[at][1].line): self.deliveries[number] for at, number in found.items()}

    def _list_times(self) -> Iterator[int]:
        for chapter in self.chapters:
            yield from (call.reached or 0 for call in chapter.records.calls)
            yield from (row.reached or 0 for row in chapter.records.events)
        yield from (each.received_ns // 1000 for each in self.deliveries)

    def _list_all(self) -> Iterator[Action]:
        told = self.match()
        for chapter in self.chapters:
            rank = 0 if chapter.is_main else 1
            for call in chapter.records.calls:
                point = ActionPoint(call.reached or 0, rank, chapter.source, call.line, call.block + 1)
                yield self._build_call(call, point)
            for row in chapter.records.events:
                if (chapter.source, row.line) not in told:
                    point = ActionPoint(row.reached or 0, rank, chapter.source, row.line, 0)
                    yield _build_event(row, point)
        rows = {(each.source, row.line): row for each in self.chapters for row in each.records.events}
        for delivery in self.deliveries:
            lines = [rows[place] for place, owner in told.items() if owner is delivery]
            yield _build_hook(delivery, lines)

    def _build_call(self, call: CallRecord, point: ActionPoint) -> Action:
        took = None
        if call.started is not None and call.ended is not None and call.ended >= call.started:
            took = (call.ended - call.started) // 1000
        return Action(
            kind=ActionKind.CALL,
            point=point,
            number=call.index,
            category=call.category,
            state=self._tell_state(call).value,
            name=call.name,
            duration_ms=took,
        )

    def _tell_state(self, call: CallRecord) -> ActionState:
        own = [each for each in self.deliveries if call.id is not None and each.tool_use_id == call.id]
        if call.state != CallState.UNRESOLVED or not own or own[-1].event_name not in FIRST_EVENTS:
            return CALL_STATES[CallState(call.state)]
        if any(each.received_ns > own[-1].received_ns for each in self._ends):
            return ActionState.UNRESOLVED
        return ActionState.WAITING if own[-1].event_name == "PermissionRequest" else ActionState.RUNNING


def _build_event(row: EventRecord, point: ActionPoint) -> Action:
    return Action(
        kind=ActionKind.EVENT,
        point=point,
        number=row.line,
        category=row.category,
        state=row.state,
        name=row.name,
        duration_ms=row.duration_ms,
    )


def _build_hook(delivery: HookDelivery, lines: Sequence[EventRecord]) -> Action:
    failed = delivery.event_name in FAILED_HOOKS or any(line.state == ActionState.FAILED for line in lines)
    name = f"{delivery.received_ns % 1000:03}{delivery.delivery_id}"
    return Action(
        kind=ActionKind.HOOK,
        point=ActionPoint(delivery.received_ns // 1000, 2, name),
        number=delivery.id,
        category=(Category.ERROR if delivery.event_name in TOLD_FAILURES else Category.HOOK).value,
        state=(ActionState.FAILED if failed else ActionState.NOTE).value,
        name=delivery.event_name,
        duration_ms=max((line.duration_ms for line in lines if line.duration_ms is not None), default=None),
    )


def _is_wanted(action: Action, where: ActionFilter) -> bool:
    took = action.duration_ms
    return (
        (where.categories is None or action.category in where.categories)
        and (where.states is None or action.state in where.states)
        and where.name in (None, action.name)
        and (where.min_ms is None or (took is not None and took >= where.min_ms))
    )
