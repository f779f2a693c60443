"""Windows of the in-memory reference: all rows, and then those that are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec.structs import astuple

from turnlog.store.identity import Place, Scope
from turnlog.store.interface import Archive, KnownSession
from turnlog.store.rows import CallRow, LineFact, MessageRow, SightingRow, TurnRow
from turnlog.store.usage.source import UsageSource
from turnlog.store.windows import (
    EVERY_CALL,
    EVERY_MESSAGE,
    AnswerUse,
    BranchRange,
    CallFilter,
    CallOutline,
    CallRange,
    FileCounts,
    FlawedLine,
    MessageFilter,
    MessageOutline,
    TurnCall,
)


class _Whole(Protocol):
    @property
    def archive(self) -> Archive: ...
    def find_answers(self, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]: ...
    def list_sightings(self, scope: Scope, key: str | None = None) -> Iterator[SightingRow]: ...
    def list_known(self, scope: Scope) -> Iterator[KnownSession]: ...
    def list_turns(self, scope: Scope, key: str) -> list[TurnRow]: ...
    def find_known(self, scope: Scope, key: str) -> KnownSession | None: ...
    def read_usage(self, scope: Scope) -> UsageSource: ...
    def list_chapters(self, scope: Scope, key: str) -> list[str]: ...
    def list_lines(self, scope: Scope, source: str, generation: int) -> list[LineFact]: ...
    def list_messages(self, scope: Scope, key: str, *, source: str | None = None) -> list[MessageRow]: ...
    def list_calls(self, scope: Scope, key: str, *, source: str | None = None) -> list[CallRow]: ...


class MemoryWindows:
    def count_messages(self: _Whole, scope: Scope, key: str, *, source: str | None = None) -> int:
        return len(self.list_messages(scope, key, source=source))

    def find_message(
        self: _Whole, scope: Scope, key: str, id: str, *, source: str | None = None
    ) -> MessageRow | None:
        for chapter in (None, *self.list_chapters(scope, key)) if source is None else (source,):
            for row in self.list_messages(scope, key, source=chapter):
                if row.id == id:
                    return row
        return None

    def list_at(
        self: _Whole, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[MessageRow]:
        return [row for row in self.list_messages(scope, key, source=source) if row.index in indexes]

    def list_after(
        self: _Whole,
        scope: Scope,
        key: str,
        *,
        source: str | None = None,
        first: int = 0,
        count: int = 100,
        where: MessageFilter = EVERY_MESSAGE,
    ) -> list[MessageRow]:
        rows = self.list_messages(scope, key, source=source)
        return [row for row in rows if row.index >= first and _is_wanted(row, where)][:count]

    def list_before(
        self: _Whole,
        scope: Scope,
        key: str,
        *,
        source: str | None = None,
        last: int,
        count: int = 100,
        where: MessageFilter = EVERY_MESSAGE,
    ) -> list[MessageRow]:
        rows = self.list_messages(scope, key, source=source)
        found = [row for row in rows if row.index < last and _is_wanted(row, where)]
        return found[max(0, len(found) - count) :]

    def list_calls_of(
        self: _Whole, scope: Scope, key: str, messages: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        return [row for row in _list_calls(self, scope, key, source) if row.message in messages]

    def list_calls_at(
        self: _Whole, scope: Scope, key: str, indexes: Sequence[int], *, source: str | None = None
    ) -> list[CallRow]:
        return [row for row in _list_calls(self, scope, key, source) if row.index in indexes]

    def find_calls(
        self: _Whole,
        scope: Scope,
        key: str,
        where: CallFilter = EVERY_CALL,
        *,
        source: str | None = None,
        first: int = 0,
        count: int = 100,
    ) -> CallRange:
        rows = [
            row
            for row in self.list_calls(scope, key, source=source)
            if (where.categories is None or row.category in where.categories)
            and (where.states is None or row.state in where.states)
            and where.name in (None, row.name)
        ]
        return CallRange(tuple(rows[first : first + count]), len(rows))

    def list_outline(
        self: _Whole,
        scope: Scope,
        key: str,
        *,
        source: str | None = None,
        first: int = 0,
        count: int | None = None,
    ) -> list[MessageOutline]:
        rows = self.list_messages(scope, key, source=source)[first:]
        return [
            MessageOutline(row.index, row.role, row.lane, row.parent)
            for row in (rows if count is None else rows[:count])
        ]

    def list_call_outline(
        self: _Whole, scope: Scope, key: str, *, source: str | None = None
    ) -> list[CallOutline]:
        return [
            CallOutline(row.index, row.message, row.category, row.state, row.started, row.ended)
            for row in _list_calls(self, scope, key, source)
        ]

    def count_turns(self: _Whole, scope: Scope, key: str) -> int:
        return len(self.list_turns(scope, key))

    def list_turn_calls(
        self: _Whole, scope: Scope, key: str, *, first: int = 0, count: int = 100
    ) -> list[TurnCall]:
        turns = {row.index: row.turn for row in self.list_messages(scope, key)}
        found = [
            TurnCall(turn, row.category, row.state, row.started, row.ended)
            for row in _list_calls(self, scope, key, None)
            if row.message is not None
            and (turn := turns[row.message]) is not None
            and first <= turn < first + count
        ]
        return sorted(found, key=lambda call: call.turn)

    def count_files(self: _Whole, scope: Scope) -> FileCounts:
        sessions = list(self.list_known(scope))
        sources = [source for session in sessions for source in session.sources]
        return FileCounts(
            sessions=len(sessions),
            only_here=sum(not any(source.present for source in session.sources) for session in sessions),
            files=len(sources),
            bytes=sum(source.length for source in sources),
            lines=sum(source.lines for source in sources),
        )

    def list_branches(self: _Whole, scope: Scope, key: str, *, source: str | None = None) -> list[BranchRange]:
        rows = self.list_messages(scope, key, source=source)
        found = []
        for branch in sorted({row.branch for row in rows}):
            own = [row for row in rows if row.branch == branch]
            found.append(
                BranchRange(
                    index=branch,
                    first=own[0].index,
                    last=own[-1].index,
                    parent=own[0].parent,
                    messages=len(own),
                    active=any(row.active for row in own),
                )
            )
        return found

    def list_flawed(
        self: _Whole, scope: Scope, key: str, *, first: int = 0, count: int = 100
    ) -> list[FlawedLine]:
        known = self.find_known(scope, key)
        found = [
            FlawedLine(
                place=Place(source.source, source.generation, line.offset), number=line.number, path=source.path
            )
            for source in sorted(() if known is None else known.sources, key=lambda each: each.source)
            for line in self.list_lines(scope, source.source, source.generation)
            if line.problems
        ]
        return found[first : first + count]

    def find_answers(self: _Whole, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]:
        cells = {answer.message: answer.cell for answer in self.read_usage(scope).list_answers()}
        return [
            AnswerUse(
                message_id=name,
                input=cells[name].input,
                output=cells[name].output,
                cache_read=cells[name].cache_read,
                cache_write=cells[name].cache_write_5m + cells[name].cache_write_1h,
                cost=None if cells[name].unpriced else cells[name].cost,
            )
            for name in sorted(set(ids) & cells.keys())
        ]

    def find_usage_version(self: _Whole, scope: Scope, key: str) -> int:
        ids = [row.message_id for row in self.list_sightings(scope, key)]
        return hash(tuple(map(astuple, self.find_answers(scope, ids))))

    def measure_lines(self: _Whole, scope: Scope, places: Sequence[Place]) -> list[int]:
        return [_measure(self, scope, place) for place in places]

    def read_lines(self: _Whole, scope: Scope, places: Sequence[Place]) -> list[bytes]:
        return [self.archive.read(scope, place, _measure(self, scope, place)) for place in places]


def _list_calls(store: _Whole, scope: Scope, key: str, source: str | None) -> list[CallRow]:
    """Return the calls of a chapter: without `source`, of the transcript."""
    name = source or next((row.source for row in store.list_messages(scope, key)), "")
    return store.list_calls(scope, key, source=name)


def _measure(store: _Whole, scope: Scope, place: Place) -> int:
    lines = store.list_lines(scope, place.source, place.generation)
    length = next((line.length for line in lines if line.offset == place.offset), None)
    if length is None:
        raise KeyError(place)
    return length


def _is_wanted(row: MessageRow, where: MessageFilter) -> bool:
    return (
        (where.lanes is None or row.lane in where.lanes)
        and (where.roles is None or row.role in where.roles)
        and (where.categories is None or row.category in where.categories)
        and where.branch in (None, row.branch)
        and where.agent_id in (None, row.agent_id)
        and where.active in (None, row.active)
    )
