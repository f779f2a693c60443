"""A whole session: its chapters, turns and agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from turnlog.transcripts.queries.chapters import EVERY_CALL, CallFilter, Chapter, ChapterFacts, SegmentReader
from turnlog.transcripts.records import AgentRecord, CallRecord, MessageRecord, TurnRecord
from turnlog.transcripts.segments import AGENTS, PART, TURNS


class SessionReader(SegmentReader, Protocol):
    """Where all that is kept of one session is."""

    def list_chapters(self) -> Sequence[ChapterFacts]:
        """Return its files of lines: the transcript's first, then by source."""

    def count_outline(self, kind: str) -> int:
        """Return how many parts there are of turns or agents."""

    def load_outline(self, kind: str, numbers: range) -> list[bytes]:
        """Return parts of turns or agents, packed."""


class CallPage(Struct, frozen=True, gc=False):
    """Some calls next to each other, each with its chapter."""

    calls: tuple[tuple[Chapter, CallRecord], ...]
    total: int
    """How many are wanted in all."""


class TurnCall(Struct, frozen=True, gc=False, array_like=True):
    """A call, and the turn in which it was made."""

    turn: int
    call: CallRecord


class SessionRecords:
    """All questions about one session that need no clock, no hooks and no other session."""

    def __init__(self, reader: SessionReader) -> None:
        self._reader = reader

    @cached_property
    def files(self) -> tuple[Chapter, ...]:
        """All of its files of lines: the transcript's first, then by source."""
        return tuple(Chapter(facts, self._reader) for facts in self._reader.list_chapters())

    @cached_property
    def chapters(self) -> tuple[Chapter, ...]:
        """Those that are conversations."""
        return tuple(file for file in self.files if file.facts.is_conversation)

    @property
    def main(self) -> Chapter | None:
        """The transcript; None if there is none."""
        return next((chapter for chapter in self.chapters if chapter.facts.is_main), None)

    def list_conversations(self) -> list[Chapter]:
        """Return the chapters in the order in which they are read: the transcript, then by path."""
        return sorted(self.chapters, key=lambda each: (not each.facts.is_main, Path(each.facts.path)))

    def find_chapter(self, source: str | None) -> Chapter | None:
        """Return the chapter of a source; of None, the transcript."""
        if source is None:
            return self.main
        return next((chapter for chapter in self.chapters if chapter.source == source), None)

    def find_message(self, id: str) -> tuple[Chapter, MessageRecord] | None:
        """Return the message with an id: the transcript's, or else the first by source."""
        for chapter in self.chapters:
            found = chapter.find_message(id)
            if found is not None:
                return chapter, found
        return None

    def count_turns(self) -> int:
        """Return how many turns there are."""
        parts = self._reader.count_outline(TURNS.name)
        return (parts - 1) * PART + len(self._list_part(parts - 1)) if parts else 0

    def list_turns(self, first: int = 0, count: int | None = None) -> list[TurnRecord]:
        """Return turns in order, from one on."""
        parts = self._reader.count_outline(TURNS.name)
        end = parts * PART if count is None else min(first + count, parts * PART)
        numbers = range(first // PART, -(-end // PART))
        found = [turn for data in self._reader.load_outline(TURNS.name, numbers) for turn in TURNS.unpack(data)]
        start = numbers.start * PART
        return found[first - start : end - start]

    def list_prompts(self) -> list[int]:
        """Return the messages with which turns begin, turn by turn."""
        return [turn.prompt for turn in self.list_turns()]

    def list_agents(self) -> list[AgentRecord]:
        """Return all sub-agents, in order."""
        parts = range(self._reader.count_outline(AGENTS.name))
        return [
            agent for data in self._reader.load_outline(AGENTS.name, parts) for agent in AGENTS.unpack(data)
        ]

    def list_turn_calls(self, first: int, count: int) -> list[TurnCall]:
        """Return the calls that the transcript's messages of some turns made: by turn, and then in order."""
        main, turns = self.main, self.list_turns(first, count)
        if main is None or not turns:
            return []
        start, end = turns[0].prompt, max(turn.last for turn in turns) + 1
        wanted = range(first, first + count)
        callers = [
            each for each in main.list_messages(start, end - start) if each.calls and each.turn in wanted
        ]
        calls = main.list_calls_of(callers)
        found = [TurnCall(caller.turn or 0, call) for caller in callers for call in calls.get(caller.index, ())]
        return sorted(found, key=lambda each: (each.turn, each.call.index))

    def list_calls(
        self, where: CallFilter = EVERY_CALL, source: str | None = None
    ) -> Iterator[tuple[Chapter, CallRecord]]:
        """Yield the calls that are wanted, of one chapter or of all."""
        for chapter in self.chapters:
            if source in (None, chapter.source):
                yield from ((chapter, call) for call in chapter.list_calls(where))

    def find_calls(
        self, where: CallFilter = EVERY_CALL, *, source: str | None = None, first: int = 0, count: int = 100
    ) -> CallPage:
        """Return some of the calls that are wanted, in the order of `list_calls`."""
        found: list[tuple[Chapter, CallRecord]] = []
        total = 0
        for each in self.list_calls(where, source):
            if first <= total < first + count:
                found.append(each)
            total += 1
        return CallPage(tuple(found), total)

    def _list_part(self, number: int) -> list[TurnRecord]:
        [data] = self._reader.load_outline(TURNS.name, range(number, number + 1))
        return TURNS.unpack(data)
