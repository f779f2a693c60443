"""The same questions about a session that was read from its files and never archived.

Segments are made of a file when it is first asked about, and kept as long as the session is.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import cached_property

from msgspec import Struct

from turnlog.instants import to_microseconds
from turnlog.messages import Line
from turnlog.messages.codec import END
from turnlog.transcripts.agents.agent import Agent
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.turns import Turn
from turnlog.transcripts.hooks.deliveries import DeliveryFilter, HookDelivery
from turnlog.transcripts.queries.actions import SessionActions
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.records import AgentRecord, TurnRecord
from turnlog.transcripts.segment_builder import SegmentBuilder, bounded, pack_lines
from turnlog.transcripts.segments import (
    AGENTS,
    TURNS,
    PackedSegment,
    Segment,
    SegmentHead,
    unpack_segment,
)
from turnlog.transcripts.session import Session

__all__ = ["MemoryReader", "query"]


def query(session: Session) -> SessionActions:
    """Return what can be asked about a session, as `Store.open_session` does; there are no hooks."""
    return SessionActions(MemoryReader(session))


class _File(Struct):
    """One file of lines, and what was made of it so far."""

    facts: ChapterFacts
    lines: Sequence[Line]
    conversation: Conversation | None
    """None if its lines are no conversation."""
    packed: list[PackedSegment] | None = None
    segments: dict[int, Segment] = {}
    raw: dict[int, bytes] = {}
    """Its lines as they stand, by offset."""


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

    def list_heads(self, source: str) -> Sequence[SegmentHead]:
        """Return the heads of a file's segments, in order."""
        return [segment.head for segment in self._pack(source)]

    def load_segment(self, source: str, number: int) -> Segment:
        """Return a segment; raises `KeyError` for one that is not there."""
        segments, packed = self._files[source].segments, self._pack(source)
        if number not in segments:
            if not 0 <= number < len(packed):
                raise KeyError(number)
            segments[number] = unpack_segment(packed[number].data)
        return segments[number]

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return bytes of a file, by offset and length; raises `KeyError` for what is not a line there."""
        file = self._files[source]
        if not file.raw:
            for line in file.lines:
                if line.at is not None:
                    file.raw[line.at.offset] = line.raw
                    if line.unread:
                        file.raw[line.at.offset + line.length - END] = line.raw[-END:]
        return [file.raw[offset][:length] for offset, length in spans]

    def count_outline(self, kind: str) -> int:
        """Return how many parts there are of turns or agents."""
        return len(self._outline[kind])

    def load_outline(self, kind: str, numbers: range) -> list[bytes]:
        """Return parts of turns or agents, packed."""
        return [self._outline[kind][number][1] for number in numbers]

    def list_hooks(self, which: DeliveryFilter) -> list[HookDelivery]:
        """Return nothing: hooks tell an archive."""
        return []

    def find_last_hook(self, names: Collection[str]) -> int | None:
        """Return nothing."""
        return None

    @cached_property
    def _outline(self) -> dict[str, tuple[tuple[int, bytes], ...]]:
        agents = [self._build_agent(index, agent) for index, agent in enumerate(self._session.agents)]
        turns = [_build_turn(turn) for turn in self._session.turns]
        return {TURNS.name: TURNS.cut(turns), AGENTS.name: AGENTS.cut(agents)}

    def _pack(self, source: str) -> list[PackedSegment]:
        file, session = self._files[source], self._session
        if file.packed is None and file.conversation is None:
            file.packed = list(pack_lines(file.lines))
        elif file.packed is None and file.conversation is not None:
            builder = SegmentBuilder(
                file.conversation,
                agent_id=file.facts.agent_id,
                turn_of=session.division.turn_of if file.facts.is_main else (),
                sightings=session.usage.list_seen_in(source),
            )
            file.packed = list(builder.build())
        return file.packed or []

    def _build_agent(self, index: int, agent: Agent) -> AgentRecord:
        path = None if agent.path is None else os.fspath(agent.path)
        own = next((each.facts.source for each in self._files.values() if path == each.facts.path), None)
        source, call = self._find_call(agent)
        return AgentRecord(
            index=index,
            id=agent.id,
            state=agent.state.value,
            depth=agent.depth,
            inline=agent.inline,
            background=agent.background,
            file=None if path is None else own,
            parent_id=agent.parent_id,
            run_id=agent.run_id,
            type=agent.type,
            description=agent.description,
            call=call,
            call_source=source,
            linked_by=None if agent.linked_by is None else agent.linked_by.value,
        )

    def _find_call(self, agent: Agent) -> tuple[str, int] | tuple[None, None]:
        """Return the file that has the call which started an agent, and which of its calls it is."""
        place = None if agent.call is None else agent.call.place
        for source, file in self._files.items() if place is not None else ():
            calls = () if file.conversation is None else file.conversation.live_calls
            for index, call in enumerate(calls):
                if place is not None and call.place.line is place.line and call.place.index == place.index:
                    return source, index
        return None, None


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
    bill, took = turn.bill, turn.duration
    unpriced = sum(totals.messages for totals in bill.unpriced.values())
    return TurnRecord(
        index=turn.index,
        prompt=turn.prompt.index,
        last=turn.messages[-1].index,
        messages=len(turn.messages),
        calls=len(turn.calls),
        agents=len(turn.agents),
        files_changed=sum(file.changed for file in turn.files),
        started=None if turn.started is None else to_microseconds(turn.started),
        ended=None if turn.ended is None else to_microseconds(turn.ended),
        duration_ms=None if took is None else round(took.total_seconds() * 1000),
        input_tokens=bounded(bill.totals.tokens.prompt),
        output_tokens=bounded(bill.totals.tokens.output),
        cost=None if unpriced and unpriced == bill.totals.messages else format(bill.cost, "f"),
    )
