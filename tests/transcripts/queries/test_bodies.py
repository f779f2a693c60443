"""What is put together from records and lines is what the conversation has; nothing is paired a second time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import turnlog
from golden import DATA
from turnlog.errors import SelectionError
from turnlog.transcripts import Call, Conversation, Message, Session
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.memory import query
from turnlog.transcripts.queries.threads import build_call, build_message, decode_lines

FILES = sorted(path for path in DATA.rglob("*.jsonl"))
MESSAGE = (
    "index", "id", "rule", "role", "types", "lane", "prompt", "aborted", "text", "thinking", "author",
    "category", "time", "model", "message_id", "is_sidechain",
)  # fmt: skip
CALL = ("id", "name", "category", "known", "state", "agent_id", "extracted_id", "result_id", "block")
RESULT = (
    "tool_use_id",
    "is_error",
    "state",
    "denial",
    "offloaded_path",
    "task_id",
    "agent_id",
    "text",
    "display",
)


def read(path: Path) -> Session | None:
    try:
        return turnlog.read(path)
    except SelectionError:  # a dump of several sessions
        return None


def list_conversations(session: Session) -> Iterator[tuple[Chapter, Conversation]]:
    agents = {agent.lines[0].at: agent.lines for agent in session.sources.agents if agent.lines}
    for chapter in query(session).chapters:
        if chapter.facts.is_main:
            yield chapter, session.conversation
        elif chapter.count_lines:
            yield (
                chapter,
                next(Conversation(lines) for at, lines in agents.items() if at and at.source == chapter.source),
            )


def tell_message(message: Message) -> list[object]:
    lines = [[line.raw for line in some] for some in (message.lines, message.folded)]
    return [*(getattr(message, name) for name in MESSAGE), lines, *map(tell_call, message.calls)]


def tell_call(call: Call) -> list[object]:
    places = [(place.line.raw, place.index) for place in (call.place, call.told_at)]
    told: list[object] = [*(getattr(call, name) for name in CALL), places]
    if call.result is not None:
        told += (getattr(call.result, name) for name in RESULT)
        told += [call.result.place.line.raw, call.result.place.index, call.result.images]
    return told


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DATA)))
def test_messages_are_those_of_the_conversation(path: Path) -> None:
    session = read(path)
    for chapter, conversation in [] if session is None else list_conversations(session):
        rows = list(chapter.list_messages())
        calls = chapter.list_calls_of(rows)
        assert len(rows) == len(conversation.messages)
        for row, message in zip(rows, conversation.messages, strict=True):
            made = calls.get(row.index, [])
            results = (call.result_line for call in made if call.result_line is not None)
            lines = decode_lines(chapter, [*row.lines, *results])
            assert tell_message(build_message(row, lines, made)) == tell_message(message)


def test_a_call_alone_is_read_from_its_two_lines() -> None:
    told = 0
    for session in filter(None, map(read, FILES)):
        for chapter, conversation in list_conversations(session):
            for record, call in zip(chapter.list_calls(), conversation.calls, strict=True):
                lines = decode_lines(
                    chapter,
                    [each for each in (record.line, record.result_line) if each is not None],
                )
                built = build_call(record, lines)
                assert (built.state, built.result_id) == (call.state, call.result_id)
                assert (built.result is None) == (call.result is None)
                assert built.result is None or call.result is None or built.result.text == call.result.text
                told += 1
    assert told > 100


def test_what_is_folded_may_be_missing_and_own_lines_may_not() -> None:
    for session in filter(None, map(read, FILES)):
        for chapter, _ in list_conversations(session):
            for row in chapter.list_messages():
                if len(row.lines) > row.own_lines:
                    own = row.lines[: row.own_lines]
                    assert build_message(row, decode_lines(chapter, own)).folded == ()
                    with pytest.raises(KeyError):
                        build_message(row, decode_lines(chapter, row.lines[row.own_lines :]))
                    return
    raise AssertionError("no golden file has anything folded")
