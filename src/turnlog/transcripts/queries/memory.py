"""The same questions about a session that was read from its files and never archived.

Segments are made of a file when it is first asked about, and kept as long as the session is.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import cached_property

from msgspec import Struct

from turnlog.messages import Line
from turnlog.transcripts.agents import Agent
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.turns import Turn
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery
from turnlog.transcripts.queries.chapters import Chapter, ChapterFacts
from turnlog.transcripts.queries.sessions import SessionActions
from turnlog.transcripts.queries.threads import DecodedChapter
from turnlog.transcripts.segment_builder import (
    SegmentBuilder,
    build_agent,
    build_turn,
    microseconds,
    pack_lines,
)
from turnlog.transcripts.segments import (
    AGENTS,
    TURNS,
    AgentRecord,
    Segment,
    SegmentHead,
    TurnRecord,
    unpack_segment,
)
from turnlog.transcripts.session import Session


def query(session: Session) -> SessionActions:
    """Return what can be asked about a session, as `Store.open_session` does; there are no hooks."""
    return _FileActions(MemoryReader(session))


class _FileActions(SessionActions):
    """Questions about a session whose lines are at hand."""

    def __init__(self, reader: MemoryReader) -> None:
        super().__init__(reader)
        self._open = reader.open_chapter
        self._list_prompts = reader.list_prompts

    @cached_property
    def files(self) -> tuple[Chapter, ...]:
        """All of its files of lines: the transcript's first, then by source."""
        facts = self._reader.list_chapters()
        return tuple(map(self._open, facts))

    def count_turns(self) -> int:
        """Return how many turns there are, without a record of any."""
        return len(self._list_prompts())

    def list_prompts(self) -> list[int]:
        """Return the messages with which turns begin, without a record of any turn."""
        return self._list_prompts()


class _File(Struct):
    """One file of lines, and what was made of it so far."""

    facts: ChapterFacts
    lines: Sequence[Line]
    conversation: Conversation | None
    """None if its lines are no conversation."""
    segments: list[tuple[SegmentHead, Segment]] | None = None


class MemoryReader:
    """Where the segments of one session in memory are."""

    def __init__(self, session: Session) -> None:
        """Take a session whose lines say where they stand."""
        self._session = session

    @cached_property
    def _files(self) -> dict[str, _File]:
        session = self._session
        path = "" if session.path is None else os.fspath(session.path)
        files = [_begin(path, session.lines, session.conversation, is_main=True)]
        for agent in session.sources.agents:
            if agent.path is not None:
                name, conversation = os.fspath(agent.path), Conversation(agent.lines)
                files.append(_begin(name, agent.lines, conversation, agent_id=agent.agent_id))
        files += [_begin("", run.journal, None) for run in session.sources.workflows if run.journal]
        main, *others = files
        return {each.facts.source: each for each in (main, *sorted(others, key=lambda each: each.facts.source))}

    def list_chapters(self) -> Sequence[ChapterFacts]:
        """Return its files of lines: the transcript's first, then by source."""
        return [file.facts for file in self._files.values()]

    def open_chapter(self, facts: ChapterFacts) -> DecodedChapter:
        """Return a file with its lines and messages."""
        file = self._files[facts.source]
        messages = () if file.conversation is None else file.conversation.live_messages
        return DecodedChapter(facts, self, file.lines, messages)

    def list_prompts(self) -> list[int]:
        """Return the messages with which turns begin."""
        return [members[0] for members in self._session.turn_builder.turns]

    def list_heads(self, source: str) -> Sequence[SegmentHead]:
        """Return the heads of a file's segments, in order."""
        return [head for head, _ in self._list_segments(source)]

    def load_segment(self, source: str, number: int) -> Segment:
        """Return a segment; raises `KeyError` for one that is not there."""
        segments = self._list_segments(source)
        if not 0 <= number < len(segments):
            raise KeyError(number)
        return segments[number][1]

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return no bytes: the lines have them."""
        raise KeyError(source)

    def count_outline(self, kind: str) -> int:
        """Return how many parts there are of turns or agents."""
        return len(self._list_parts(kind))

    def load_outline(self, kind: str, numbers: range) -> list[bytes]:
        """Return parts of turns or agents, packed."""
        return [self._list_parts(kind)[number][1] for number in numbers]

    def _list_parts(self, kind: str) -> tuple[tuple[int, bytes], ...]:
        return self._turns if kind == TURNS.name else self._agents

    def list_hooks(self, which: DeliveryFilter) -> list[HookDelivery]:
        """Return nothing: hooks tell an archive."""
        return []

    def find_last_hook(self, names: Collection[str]) -> int | None:
        """Return nothing."""
        return None

    @cached_property
    def _agents(self) -> tuple[tuple[int, bytes], ...]:
        return AGENTS.cut([self._build_agent(index, agent) for index, agent in enumerate(self._session.agents)])

    @cached_property
    def _turns(self) -> tuple[tuple[int, bytes], ...]:
        return TURNS.cut([_build_turn(turn) for turn in self._session.turns])

    def _list_segments(self, source: str) -> list[tuple[SegmentHead, Segment]]:
        file, session = self._files[source], self._session
        if file.segments is None and file.conversation is None:
            file.segments = [(each.head, unpack_segment(each.data)) for each in pack_lines(file.lines)]
        elif file.segments is None and file.conversation is not None:
            builder = SegmentBuilder(
                file.conversation,
                agent_id=file.facts.agent_id,
                turn_of=session.turn_builder.turn_of if file.facts.is_main else (),
                sightings=session.usage.list_seen_in(source),
            )
            file.segments = [*builder.hold()]
        return file.segments or []

    def _build_agent(self, index: int, agent: Agent) -> AgentRecord:
        path = None if agent.path is None else os.fspath(agent.path)
        own = next((each.facts.source for each in self._files.values() if path == each.facts.path), None)
        lines = self._session.conversation.list_numbers(agent.lines)
        return build_agent(index, agent, None if path is None else own, self._find_call(agent), lines)

    def _find_call(self, agent: Agent) -> tuple[str, int] | None:
        """Return the file that has the call which started an agent, and which of its calls it is."""
        at = None if agent.call is None else agent.call.place.line.at
        file = None if at is None else self._files.get(at.source)
        if agent.call is None or file is None or file.conversation is None:
            return None
        position = file.conversation.find_position(agent.call)
        return None if position is None else (file.facts.source, position)


def _begin(
    path: str,
    lines: Sequence[Line],
    conversation: Conversation | None,
    *,
    is_main: bool = False,
    agent_id: str | None = None,
) -> _File:
    at = lines[0].at if lines else None
    source = path if at is None else at.source
    facts = ChapterFacts(
        source=source,
        generation=0,
        is_main=is_main,
        is_conversation=conversation is not None,
        agent_id=agent_id,
        path=path or source,
    )
    return _File(facts, lines, conversation)


def _build_turn(turn: Turn) -> TurnRecord:
    return build_turn(
        turn.index,
        turn.prompt,
        turn.messages[-1].index,
        messages=len(turn.messages),
        calls=len(turn.calls),
        agents=len(turn.agents),
        files_changed=sum(file.changed for file in turn.files),
        ended=microseconds(turn.ended),
        told=turn.told_duration,
        bill=turn.bill,
    )
