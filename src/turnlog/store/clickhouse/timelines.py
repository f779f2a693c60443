"""Hook events between messages: found by their calls and by time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnlog.store.clickhouse.chapters import CHAPTER, SHORTLY, ChapterQueries, Look, rows_of
from turnlog.store.clickhouse.hook_placing import (
    ABOVE,
    SPEAKING,
    Call,
    Event,
    Span,
    build_spans,
    hears,
    locate_events,
    place_events,
)
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.kinds import MESSAGES
from turnlog.store.clickhouse.timeline_parts import (
    CALLS_OF_IDS,
    CALLS_OF_MESSAGES,
    FACT,
    FACT_NAMES,
    HAS_EVENTS,
    IN_SPANS,
    LAST_MESSAGES,
    LINE_STARTS,
    LINES_AT,
    LINES_NEAR,
    NEAR_LINES,
    NUMBERED,
    events_like,
)
from turnlog.store.identity import Place, Scope
from turnlog.store.packing import Cells, pack_text, unpack_row, unpack_text
from turnlog.store.rows import PlacementRow
from turnlog.store.timeline import EventFact, HookFact, HookPlace, HooksUnder, rank_hook
from turnlog.transcripts.hooks.matching import NEAR, Told

__all__ = ["Timelines"]

_FAR = 1 << 62
"""Times that are farther away than this are all the same."""
_Last = tuple[int | None, int | None]
"""The index of a message, and its turn."""
_NOTHING: _Last = (None, None)
_REACHED = rows_of(MESSAGES, "idx, reached", f"{CHAPTER} AND idx IN {{numbers:Array(Int64)}}")


class Timelines(ChapterQueries):
    """What `ClickHouseStore` tells of hook events."""

    def list_hooks_under(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        messages: Sequence[int],
        *,
        source: str | None = None,
        above: bool = False,
        count: int = 1000,
    ) -> HooksUnder:
        """Return the hook events under messages of a chapter; with `above`, also those before the first."""
        told = {"told": pack_text(session_id)}
        if not self._reading(scope).query(HAS_EVENTS + SHORTLY, told):
            return HooksUnder((), 0)
        look = self._look(scope, key)
        main = None if look is None else look.main
        chapter = main if source is None else number(scope.owner, source)
        wanted = sorted(set(messages))
        spans, asked = self._list_spans(scope, key, look, chapter, wanted, above)
        values = {
            "ids": asked,
            "since": [each.since for each in spans],
            "until": [each.until for each in spans],
        }
        events = self._list_speaking(scope, IN_SPANS, {**values, **told})
        calls = self._list_callers(scope, key, look, events)
        under = [
            each
            for each in place_events(events, calls, chapter, {*wanted}, spans)
            if each[1] or hears(look, chapter, each[2])
        ]
        under.sort(key=lambda each: (each[2].received_ns, each[2].delivery_id))
        numbers = [event.number for _, _, event in under[:count]]
        facts = {fact.id: fact for fact in self.list_hooks_at(scope, session_id, numbers)}
        kept = [
            (at, of_call, facts[event.number]) for at, of_call, event in under[:count] if event.number in facts
        ]
        kept.sort(key=lambda each: (each[0], rank_hook(each[2], each[1])))
        return HooksUnder(tuple((None if at == ABOVE else at, fact) for at, _, fact in kept), len(under))

    def list_hooks_at(self, scope: Scope, session_id: str, ids: Sequence[int]) -> list[HookFact]:
        """Return hook events of a session by their numbers, in the order of these."""
        if not ids:
            return []
        return self._list_facts(scope, session_id, NUMBERED, {"numbers": sorted(set(ids))})

    def find_hook_places(
        self, scope: Scope, key: str, session_id: str, ids: Sequence[int]
    ) -> dict[int, HookPlace]:
        """Return where hook events stand, by their numbers."""
        values = {"told": pack_text(session_id), "numbers": sorted(set(ids))}
        events = self._list_speaking(scope, NUMBERED, values) if ids else []
        look = self._look(scope, key) if events else None
        found = locate_events(events, self._list_callers(scope, key, look, events), look)
        asked = {(source, event.received_ns // 1000) for event, source, message in found if message is None}
        last = self._find_last(scope, key, look, asked)
        names = {} if look is None else {file.number: file.name for file in look.files}
        places: dict[int, HookPlace] = {}
        for event, source, message in found:
            at = last.get((source, event.received_ns // 1000), _NOTHING)[0] if message is None else message
            places[event.number] = HookPlace(None if source is None else names.get(source), at)
        return places

    def list_hooks_near(self, scope: Scope, session_id: str, lines: Sequence[Told]) -> list[HookFact]:
        """Return the hook events that lines may tell of: about the same call, or near in time."""
        facts = self._list_facts(scope, session_id, NEAR_LINES, _pack_told(lines))
        calls = {(each.event, each.tool_use_id) for each in lines}
        return [
            fact
            for fact in facts
            if (
                _is_near(fact.event_name, fact.told.at, lines)
                if fact.tool_use_id is None
                else (fact.event_name, fact.tool_use_id) in calls
            )
        ]

    def list_hook_lines(self, scope: Scope, key: str, hooks: Sequence[Told]) -> list[EventFact]:
        """Return the lines of a session that may tell of hook events, by file and number."""
        calls = {(each.event, each.tool_use_id) for each in hooks if each.tool_use_id is not None}
        others = [each for each in hooks if each.tool_use_id is None]
        values = _pack_told(hooks) | {"times": _pack_told(others)["times"]}
        rows = self._list_events(scope, key, LINES_NEAR, values) if hooks else []
        return [
            each
            for each in rows
            if (each.row.hook, each.row.tool_use_id) in calls or _is_near(each.row.hook, each.row.time, others)
        ]

    def list_events_at(self, scope: Scope, key: str, lines: Sequence[tuple[str, int]]) -> list[EventFact]:
        """Return lines of a session by file and number, in the order of these; only those that are events."""
        wanted = {*lines}
        values = {
            "sources": sorted({number(scope.owner, name) for name, _ in wanted}),
            "numbers": sorted({line for _, line in wanted}),
        }
        found = self._list_events(scope, key, LINES_AT, values) if wanted else []
        return [each for each in found if (each.row.source, each.row.index) in wanted]

    def find_turns(self, scope: Scope, key: str, times: Sequence[int]) -> dict[int, int]:
        """Return the turn that was under way at times, in microseconds."""
        usual = number(scope.owner, key)
        found = self._find_last(scope, key, None, {(usual, at) for at in times}, in_turns=True)
        look = None if found or not times else self._look(scope, key)
        if look is not None and look.main not in (None, usual):
            found = self._find_last(scope, key, look, {(look.main, at) for at in times}, in_turns=True)
        return {at: turn for (_, at), (_, turn) in sorted(found.items()) if turn is not None}

    def _list_spans(
        self, scope: Scope, key: str, look: Look | None, chapter: int | None, messages: list[int], above: bool
    ) -> tuple[list[Span], list[bytes]]:
        """Return the time under messages of a chapter, and the ids of the calls that they made."""
        if look is None or chapter is None:
            return build_spans({}, (), above), []
        near = sorted({0, *messages, *(at + 1 for at in messages)})
        reached = self._select(scope, key, _REACHED, {"chapter": chapter, "numbers": near}, look)
        values = {"chapter": chapter, "numbers": messages}
        calls = self._select(scope, key, CALLS_OF_MESSAGES, values, look) if messages else []
        return build_spans(dict(reached), messages, above), sorted({id for id, _ in calls if id is not None})

    def _list_speaking(self, scope: Scope, like: str, values: Mapping[str, Any]) -> list[Event]:
        return [Event(*row) for row in self._reading(scope).query(events_like(SPEAKING, like), values)]

    def _list_callers(self, scope: Scope, key: str, look: Look | None, events: Iterable[Event]) -> list[Call]:
        """Return the calls of messages that events are about, in all chapters."""
        ids = sorted({each.call for each in events if each.call is not None})
        if look is None or not ids:
            return []
        rows = self._select(scope, key, CALLS_OF_IDS, {"ids": ids}, look)
        return [Call(*row) for row in rows if row[-1] is not None]

    def _list_facts(
        self, scope: Scope, session_id: str, like: str, values: Mapping[str, Any]
    ) -> list[HookFact]:
        query = f"{events_like(FACT, like)} ORDER BY number"
        return [
            _build(row) for row in self._reading(scope).query(query, {**values, "told": pack_text(session_id)})
        ]

    def _list_events(self, scope: Scope, key: str, query: str, values: Mapping[str, Any]) -> list[EventFact]:
        """Return lines with where they begin, by file and number."""
        found = [
            (source, unpack_row(PlacementRow, row))
            for *_, source, row in self._select(scope, key, query, values)
        ]
        if not found:
            return []
        wanted = {
            "sources": sorted({source for source, _ in found}),
            "numbers": sorted({row.index for _, row in found}),
        }
        starts = {
            (source, line): (generation, start)
            for source, generation, line, start in self._select(scope, key, LINE_STARTS, wanted)
        }
        facts = [
            EventFact(row, Place(row.source, *starts[source, row.index]))
            for source, row in found
            if (source, row.index) in starts
        ]
        return sorted(facts, key=lambda each: (each.row.source, each.row.index))

    def _find_last(
        self,
        scope: Scope,
        key: str,
        look: Look | None,
        asked: Iterable[tuple[int | None, int]],
        *,
        in_turns: bool = False,
    ) -> dict[tuple[int | None, int], _Last]:
        """Return the last message of files that was reached at a time, and its turn; there may be none."""
        wanted = {(source, at): max(min(at, _FAR), -_FAR) for source, at in asked if source is not None}
        if not wanted:
            return {}
        times = sorted(set(wanted.values()))
        values = {
            "sources": sorted({source for source, _ in wanted}),
            "negated": [-at for at in reversed(times)],
            "last": times[-1],
            "in_turns": in_turns,
        }
        steps: dict[int | None, list[tuple[int, int, int | None]]] = {}
        for source, bucket, index, turn in self._select(scope, key, LAST_MESSAGES, values, look):
            steps.setdefault(source, []).append((bucket, index, turn))
        found: dict[tuple[int | None, int], _Last] = {}
        for name, at in wanted.items():
            place = bisect_right(steps.get(name[0], []), at, key=lambda step: step[0])
            if place:
                found[name] = steps[name[0]][place - 1][1:]
        return found


def _build(cells: Cells) -> HookFact:
    return HookFact(
        **{
            name: unpack_text(cell) if isinstance(cell, bytes) else cell
            for name, cell in zip(FACT_NAMES, cells, strict=True)
        }
    )


def _is_near(event: str | None, at: int | None, told: Iterable[Told]) -> bool:
    """Tell whether one of some others is of the same event, and near in time."""
    return at is not None and any(
        each.event == event and each.at is not None and abs(each.at - at) <= NEAR for each in told
    )


def _pack_told(told: Iterable[Told]) -> dict[str, Any]:
    """Return what is looked for."""
    wanted = list(told)
    return {
        "events": sorted({pack_text(each.event) for each in wanted}),
        "calls": sorted({pack_text(each.tool_use_id) for each in wanted if each.tool_use_id is not None}),
        "times": sorted({each.at for each in wanted if each.at is not None}),
    }
