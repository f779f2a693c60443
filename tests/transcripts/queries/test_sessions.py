"""A whole session: its files, turns, agents and calls."""

from __future__ import annotations

import pytest

from memory_session import MemorySession
from turnlog.store.batch import Derived
from turnlog.store.model import SourceKind
from turnlog.testing.builders import make_batch, make_lines, unpack_records
from turnlog.testing.checks import get_derived
from turnlog.transcripts.queries.chapters import CallFilter, ChapterFacts
from turnlog.transcripts.queries.sessions import SessionRecords, TurnCall
from turnlog.transcripts.segments import AGENTS, PART, TURNS

FILES = {
    "session-1.jsonl": make_lines(3 * PART),
    "session-1/subagents/agent-a1.jsonl": make_lines(24, agent_id="a1"),
    "session-1/subagents/agent-a2.jsonl": make_lines(6, agent_id="a2"),
    "session-1/workflows/wf_1/journal.jsonl": b'{"n":1}\n' * 5,
}
BATCH = make_batch(FILES)
DERIVED: Derived = get_derived(BATCH)
MAIN, *AGENT_SOURCES = [each.source for each in BATCH.sources if each.kind is not SourceKind.JOURNAL]
RECORDS = {chapter.source: unpack_records(chapter.segments) for chapter in DERIVED.chapters}


def open_session(derived: Derived = DERIVED) -> SessionRecords:
    kinds = {source.source: source for source in BATCH.sources}
    facts = [
        ChapterFacts(
            source=chapter.source,
            generation=0,
            is_main=kinds[chapter.source].kind is SourceKind.TRANSCRIPT,
            is_conversation=kinds[chapter.source].kind is not SourceKind.JOURNAL,
            agent_id=kinds[chapter.source].agent_id,
        )
        for chapter in derived.chapters
    ]
    facts.sort(key=lambda each: (not each.is_main, each.source))
    segments = {chapter.source: chapter.segments for chapter in derived.chapters}
    outline = {each.kind: [data for _, data in each.parts] for each in derived.outline}
    return SessionRecords(MemorySession({each: segments[each.source] for each in facts}, outline))


@pytest.fixture
def session() -> SessionRecords:
    return open_session()


def test_files_that_are_no_conversations_are_no_chapters(session: SessionRecords) -> None:
    assert len(session.files) == 4
    assert [each.source for each in session.chapters] == [MAIN, *sorted(AGENT_SOURCES)]
    journal = next(each for each in session.files if not each.facts.is_conversation)
    assert (journal.count_lines, journal.count_messages) == (5, 0)
    assert session.find_chapter(journal.source) is None


def test_a_chapter_is_found_by_its_source(session: SessionRecords) -> None:
    assert session.main is session.find_chapter(None) is session.find_chapter(MAIN) is session.chapters[0]
    for source in AGENT_SOURCES:
        found = session.find_chapter(source)
        assert found is not None
        assert found.source == source
    assert session.find_chapter("nobody's") is None


def test_a_message_is_found_in_any_chapter(session: SessionRecords) -> None:
    for source, records in RECORDS.items():
        for message in records.messages[3:5]:
            found = session.find_message(message.id)
            assert found is not None
            assert (found[0].source, found[1]) == (source, message)
    assert session.find_message("nobody") is None


def list_turns() -> list[object]:
    [outline] = [each for each in DERIVED.outline if each.kind == TURNS.name]
    return [turn for _, data in outline.parts for turn in TURNS.unpack(data)]


def test_turns_come_in_windows(session: SessionRecords) -> None:
    turns = list_turns()
    assert session.count_turns() == len(turns) == 3 * PART // 2
    for first in (0, 1, PART - 1, PART, PART + 1, len(turns) - 1, len(turns), len(turns) + 9):
        for count in (None, 0, 1, 3, PART, 10_000):
            end = None if count is None else first + count
            assert session.list_turns(first, count) == turns[first:end]


def test_agents_are_listed(session: SessionRecords) -> None:
    [outline] = [each for each in DERIVED.outline if each.kind == AGENTS.name]
    expected = [agent for _, data in outline.parts for agent in AGENTS.unpack(data)]
    assert session.list_agents() == expected
    assert [agent.id for agent in expected] == ["a1", "a2"]


def test_of_a_session_without_anything_there_is_nothing() -> None:
    session = SessionRecords(MemorySession({}, {}))
    assert (session.files, session.main, session.count_turns()) == ((), None, 0)
    assert [*session.list_turns(), *session.list_agents(), *session.list_turn_calls(0, 9)] == []
    assert session.find_calls().total == 0


def test_calls_come_in_pages_by_chapter(session: SessionRecords) -> None:
    chapters = [chapter.source for chapter in session.chapters]
    every = [(source, call) for source in chapters for call in RECORDS[source].calls]
    for where in (CallFilter(), CallFilter(states=("resolved",)), CallFilter(name="Nothing")):
        wanted = [each for each in every if where.accepts(each[1])]
        for first, count in ((0, 1000), (1, 2), (len(wanted) - 1, 5), (len(wanted), 5)):
            page = session.find_calls(where, first=max(first, 0), count=count)
            assert [(chapter.source, call) for chapter, call in page.calls] == wanted[max(first, 0) :][:count]
            assert page.total == len(wanted)
        own = [each for each in wanted if each[0] == AGENT_SOURCES[0]]
        page = session.find_calls(where, source=AGENT_SOURCES[0], first=1, count=2)
        assert [(chapter.source, call) for chapter, call in page.calls] == own[1:3]
        assert page.total == len(own)


def test_calls_are_found_by_their_turns(session: SessionRecords) -> None:
    turns = {message.index: message.turn for message in RECORDS[MAIN].messages}
    calls = [
        TurnCall(turn, call)
        for call in RECORDS[MAIN].calls
        if call.message is not None and (turn := turns[call.message]) is not None
    ]
    assert len(calls) > PART
    for first, count in ((0, 1000), (2, 3), (PART - 1, 2), (5, 0), (1000, 10)):
        expected = [call for call in calls if first <= call.turn < first + count]
        assert session.list_turn_calls(first, count) == expected
