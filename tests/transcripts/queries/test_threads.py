"""What is read from records, a few messages at a time, is what a session that was read whole says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import pytest

import turnlog
from golden import DATA
from memory_session import MemorySession
from turnlog.export.conversation import build_pieces
from turnlog.messages import Line
from turnlog.messages.metadata import QueueOperation
from turnlog.testing.builders import make_lines
from turnlog.transcripts import Conversation, Session, build_total, list_dumped
from turnlog.transcripts.actions import REPORTED, report_of
from turnlog.transcripts.conversation.messages import LineDisplay
from turnlog.transcripts.conversation.timeline import PromptQueue
from turnlog.transcripts.lines.prompts import read_prompt
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.queries.memory import query
from turnlog.transcripts.queries.sessions import SessionActions
from turnlog.transcripts.queries.threads import (
    build_tree,
    count_agent_calls,
    list_agent_usage,
    list_turn_uses,
    open_agent,
    open_main,
    read_agent_prompt,
    read_prompts,
)
from turnlog.transcripts.segment_builder import SegmentBuilder
from turnlog.transcripts.segments import SEGMENT
from turnlog.transcripts.usage.sightings import UsageFold

FILES = sorted(path for path in (DATA / "transcripts").rglob("*.jsonl") if not list_dumped(path))


@pytest.fixture(params=FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def session(request: pytest.FixtureRequest) -> Session:
    return turnlog.read(request.param)


def list_notes(conversation: Conversation) -> dict[int, list[Line]]:
    """Return the lines that are no message but report something, by the message that they stand below.

    Not so those about a queued prompt that is shown itself.
    """
    shown = {message.prompt.text.strip() for message in conversation.messages if message.prompt is not None}
    queue = PromptQueue()
    notes: dict[int, list[Line]] = {}
    above = -1
    placed = zip(conversation.lines, conversation.placements, strict=True)
    for number, (line, placement) in enumerate(placed):
        entry = line.entry
        if type(entry) is QueueOperation and read_prompt(queue.add(number, entry)).text.strip() in shown:
            continue
        if placement.message is not None:
            above = max(above, placement.message)
        elif type(entry) in REPORTED and placement.display is LineDisplay.STATE and report_of(entry):
            notes.setdefault(above, []).append(line)
    return notes


def store(session: Session) -> SessionActions:
    """Return the transcript as an archive has it: packed records, and bytes."""
    assert session.path is not None
    source = str(session.path)
    facts = ChapterFacts(source=source, generation=0, is_main=True)
    segments = tuple(SegmentBuilder(session.conversation).build())
    return SessionActions(MemorySession({facts: segments}, {}, files={(source, 0): session.path.read_bytes()}))


def test_the_messages_of_a_session_at_hand_are_not_made_again(session: Session) -> None:
    assert [*map(id, open_main(query(session)).read())] == [*map(id, session.messages)]


@pytest.mark.parametrize("ask", [query, store])
def test_the_transcript_is_the_conversation(session: Session, ask: Callable[[Session], SessionActions]) -> None:
    thread = open_main(ask(session))
    said = [(each.id, each.text, each.thinking, each.agent_id, len(each.calls)) for each in thread.read()]
    assert said == [
        (each.id, each.text, each.thinking, each.agent_id, len(each.calls)) for each in session.messages
    ]
    assert thread.compactions == session.compactions
    notes = {at: thread.read_notes(at) for at in thread.notes}
    assert {at: lines for at, lines in notes.items() if lines} == list_notes(session.conversation)


def test_the_tree_is_that_of_the_messages(session: Session) -> None:
    tree, found = session.tree, build_tree(open_main(query(session)))
    assert (found.roots, found.parents, found.active) == (tree.roots, tree.parents, tree.active)
    assert (found.branches, found.forks) == (tree.branches, dict(tree.forks))


def test_turns_have_done_and_used_the_same(session: Session) -> None:
    asked = query(session)
    found = [
        (prompt, use.messages, use.agents, use.files, build_total(use.usage))
        for prompt, use in zip(read_prompts(asked), list_turn_uses(asked), strict=True)
    ]
    assert found == [
        (turn.prompt.text, tuple(each.index for each in turn.messages), turn.agents, turn.files, turn.totals)
        for turn in session.turns
    ]


def test_agents_said_and_used_the_same(session: Session) -> None:
    asked = query(session)
    for agent, record in zip(session.agents, asked.list_agents(), strict=True):
        own = Session(agent.lines[agent.inherited :]).messages
        assert [each.id for each in open_agent(asked, record).read()] == [each.id for each in own]
        assert list_agent_usage(asked, record) == UsageFold(agent.lines[agent.inherited :]).list_messages()
        assert count_agent_calls(asked, record) == len(agent.calls)
        assert read_agent_prompt(asked, record) == agent.prompt


class CountedSession(MemorySession):
    """A session that counts the bytes that are read, and how often."""

    size = 0
    reads = 0

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        self.size += sum(length for _, length in spans)
        self.reads += len(spans)
        return super().read_bytes(source, generation, spans)


LINES = 12 * SEGMENT


@pytest.fixture
def long(tmp_path: Path) -> CountedSession:
    path = tmp_path / "long.jsonl"
    path.write_bytes(make_lines(LINES))
    session = turnlog.read(path)
    facts = ChapterFacts(source="long", generation=0, is_main=True)
    segments = tuple(SegmentBuilder(session.conversation).build())
    return CountedSession({facts: segments}, {}, files={("long", 0): path.read_bytes()})


def test_the_last_messages_need_their_segments_alone(long: CountedSession) -> None:
    thread = open_main(SessionActions(long))
    count = len(thread.messages)
    assert len([*thread.read(thread.list_some(count - 10, count))]) == 10
    assert {number for _, number in long.loaded} <= {LINES // SEGMENT - 2, LINES // SEGMENT - 1}
    assert long.reads == 1  # lines next to each other are read together


def test_an_export_reads_as_it_goes(long: CountedSession) -> None:
    pieces = build_pieces(SessionActions(long))
    [*islice(pieces, 20)]
    assert long.size < 100_000
    assert len([*pieces]) > LINES // 2
    assert long.size > 500_000
