"""From lines to messages: what is shown, folded, hidden, and what merely says how things stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnlog
from strategies import lines as any_line
from strategies import sessions
from turnlog.transcripts import (
    Author,
    CallState,
    Conversation,
    Lane,
    LineDisplay,
    MessageType,
    Role,
    Rule,
    read_lines,
)

DATA = Path(__file__).parents[1] / "data" / "transcripts"
CORPUS_COUNTS = Path(__file__).parents[1] / "data" / "transcripts" / "corpus-places.json"


def read(name: str) -> turnlog.Session:
    return turnlog.read(DATA / name / "session.jsonl")


def rules(session: turnlog.Session) -> list[str]:
    return [placement.rule.value for placement in session.placements]


def conversation(*lines: dict[str, object]) -> Conversation:
    return Conversation(turnlog.decode(json.dumps(line)) for line in lines)


def test_lines_of_one_message_id_are_one_message_with_all_their_blocks() -> None:
    session = read("split-message")
    prompt, answer, last = session.messages
    assert prompt.text == "Compare the two files"
    assert [line.entry.uuid for line in answer.lines] == ["a1", "a2", "a3", "a4"]  # type: ignore[union-attr]
    assert answer.message_id == "m1"
    assert answer.types == (MessageType.THINKING, MessageType.ASSISTANT)
    assert (answer.thinking, answer.text) == ("Both at once.", "I will read both.")
    assert len(answer.blocks) == 4
    assert [call.id for call in answer.calls] == ["t1", "t2"]
    assert [call.result.text for call in answer.calls if call.result] == ["A", "B"]
    assert last.text == "They differ."


def test_results_are_folded_into_the_message_that_called() -> None:
    session = read("split-message")
    assert rules(session) == ["prompt", "answer", "part", "part", "result", "part", "result", "answer"]
    assert [placement.message for placement in session.placements] == [0, 1, 1, 1, 1, 1, 1, 2]
    assert len(session.messages[1].folded) == 2


def test_roles_follow_spec_002() -> None:
    session = read("roles")
    assert rules(session) == [
        "meta",
        "command",
        "output",
        "prompt",
        "thinking",
        "answer",
        "result",
        "answer",
        "result",
        "empty",
        "lone-thinking",
        "footer",
    ]
    roles = [Role.USER, Role.USER, Role.ASSISTANT, Role.TOOL_USE, Role.ASSISTANT]
    assert [message.role for message in session.messages] == roles


def test_command_tags_and_backslashes_are_not_shown() -> None:
    command, prompt, *_ = read("roles").messages
    assert command.prompt is not None
    assert (command.prompt.command, command.prompt.arguments) == ("/review", "src \nlib")
    assert [turnlog.encode(line) for line in command.folded if b"3 files" in line.raw]
    assert prompt.text == "Fix it:\nboth places"


def test_thinking_waits_for_its_answer_even_under_another_id() -> None:
    answer = read("roles").messages[2]
    assert (answer.thinking, answer.text) == ("Where is it?", "Here it is.")
    assert answer.types == (MessageType.THINKING, MessageType.ASSISTANT)


def test_thinking_that_no_answer_follows_stays_visible() -> None:
    last = read("roles").messages[-1]
    assert (last.rule, last.types, last.thinking) == (
        Rule.LONE_THINKING,
        (MessageType.THINKING,),
        "Nothing follows.",
    )


def test_thinking_does_not_wait_beyond_a_prompt() -> None:
    talk = conversation(
        answer("a1", "m1", {"type": "thinking", "thinking": "Hm."}),
        prompt("u1", "Well?"),
        answer("a2", "m2", {"type": "text", "text": "Yes."}),
    )
    assert [message.rule for message in talk.messages] == [Rule.LONE_THINKING, Rule.PROMPT, Rule.ANSWER]


def test_deleted_lines_are_hidden_but_counted_and_aborted_ones_marked() -> None:
    session = read("deleted-and-aborted")
    assert rules(session).count("deleted") == 1
    assert "Forget this" not in [message.text for message in session.messages]
    assert [(message.id, message.aborted) for message in session.messages] == [
        ("u1", False),
        ("a1", True),
        ("a2", True),
    ]


def test_an_answer_that_another_line_replaces_is_hidden() -> None:
    session = read("superseded")
    assert rules(session) == ["prompt", "superseded", "answer"]
    assert [message.text for message in session.messages] == ["Tell me", "Second try"]


def test_copies_of_a_line_are_folded_into_the_first() -> None:
    session = read("copies")
    assert rules(session) == ["prompt", "answer", "copy", "copy", "prompt"]
    assert [len(message.blocks) for message in session.messages] == [0, 1, 0]


def test_progress_is_folded_into_its_call_and_stands_alone_without_one() -> None:
    session = read("progress")
    assert rules(session) == ["prompt", "answer", "progress", "lone-progress", "result", "answer"]
    assert session.messages[2].role is Role.PROGRESS


def test_steering_text_is_shown_once_where_it_was_delivered() -> None:
    session = read("steering")
    texts = [message.text for message in session.messages]
    assert texts.count("and keep the tests") == 1
    assert session.messages[2].rule is Rule.QUEUED


def test_steering_text_that_stands_only_in_the_queue_is_shown_there() -> None:
    talk = conversation(
        prompt("u1", "Refactor"),
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "content": "<task-notification>x</task-notification>",
        },
        {"type": "queue-operation", "operation": "enqueue", "content": "keep the tests"},
        {"type": "queue-operation", "operation": "remove"},
        answer("a1", "m1", {"type": "text", "text": "Done."}),
        {"type": "queue-operation", "operation": "dequeue"},
        prompt("u2", "<task-notification>x</task-notification>"),
    )
    assert [(message.rule, message.text) for message in talk.messages] == [
        (Rule.PROMPT, "Refactor"),
        (Rule.QUEUED, "keep the tests"),
        (Rule.ANSWER, "Done."),
        (Rule.NOTICE, "x"),
    ]
    assert talk.tree.parents[1] == 0


def test_a_prompt_that_was_taken_back_or_came_otherwise_does_not_wait() -> None:
    talk = conversation(
        {"type": "queue-operation", "operation": "enqueue", "content": "never mind"},
        {"type": "queue-operation", "operation": "popAll"},
        {"type": "queue-operation", "operation": "enqueue", "content": "go"},
        prompt("u1", "go"),
    )
    assert [message.text for message in talk.messages] == ["go"]


def test_a_prompt_that_still_waits_in_the_queue_is_shown() -> None:
    waiting = read("steering").messages[-1]
    assert (waiting.rule, waiting.text, waiting.author) == (Rule.WAITING, "then commit", Author.HUMAN)
    assert waiting.role is Role.USER


def test_an_interruption_marks_what_it_cut_short() -> None:
    session = read("interruption")
    answer, mark = session.messages[1:3]
    assert answer.aborted
    assert answer.calls[0].state is CallState.REJECTED
    assert (mark.rule, mark.author, mark.types) == (Rule.INTERRUPTION, Author.SYSTEM, (MessageType.SYSTEM,))
    assert not session.messages[4].aborted


def test_context_for_the_model_is_hidden_and_what_people_gave_is_shown() -> None:
    session = read("attachments-shown")
    assert rules(session) == [
        "context",
        "context-shown",
        "hook-ran",
        "hook",
        "unknown",
        "prompt",
        "answer",
        "hook-ran",
    ]
    assert session.messages[1].types == (MessageType.HOOK,)


def test_lanes_tell_what_is_said_from_what_is_done() -> None:
    lanes = [message.lane for message in read("roles").messages]
    assert lanes == [Lane.MAIN, Lane.MAIN, Lane.MAIN, Lane.TOOL, Lane.MAIN]
    assert [message.is_sidechain for message in read("roles").messages] == [False, False, True, True, False]


def test_a_sidechain_is_the_agents_lane_and_its_user_is_claude() -> None:
    talk = conversation(
        prompt("u1", "Look into it") | {"isSidechain": True, "agentId": "ag1"},
        answer("a1", "m1", {"type": "text", "text": "Found."}) | {"isSidechain": True, "agentId": "ag1"},
    )
    assert [(message.lane, message.author, message.agent_id) for message in talk.messages] == [
        (Lane.AGENT, Author.CLAUDE, "ag1"),
        (Lane.AGENT, Author.AGENT, "ag1"),
    ]


def test_a_result_without_its_call_is_a_message_of_its_own() -> None:
    result = {"type": "tool_result", "tool_use_id": "gone", "content": "42"}
    talk = conversation(prompt("u1", [result]))
    assert [(message.rule, message.role) for message in talk.messages] == [(Rule.LONE_RESULT, Role.TOOL_RESULT)]


def test_a_result_before_its_call_is_folded_all_the_same() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "42"}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    talk = conversation(prompt("u1", [result]), answer("a1", "m1", call))
    assert [placement.rule for placement in talk.placements] == [Rule.RESULT, Rule.ANSWER]
    assert len(talk.messages) == 1


def test_what_belongs_to_something_hidden_is_hidden_with_it() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "42"}
    talk = conversation(answer("a1", "m1", call) | {"isDeleted": True}, prompt("u1", [result]))
    assert [placement.rule for placement in talk.placements] == [Rule.DELETED, Rule.DELETED]
    assert talk.messages == ()


def test_two_texts_of_one_prompt_are_one_prompt_without_what_the_ide_shows() -> None:
    shown = {"type": "text", "text": "<ide_opened_file>The user opened a.py</ide_opened_file>"}
    talk = conversation(prompt("u1", [shown, {"type": "text", "text": "Fix this"}]))
    assert [message.text for message in talk.messages] == ["Fix this"]


def test_summaries_of_other_sessions_are_not_shown_in_this_one() -> None:
    talk = conversation(
        {"type": "summary", "summary": "Of old", "leafUuid": "elsewhere"},
        prompt("u1", "Hello"),
        {"type": "summary", "summary": "Of this", "leafUuid": "u1"},
    )
    assert [placement.rule for placement in talk.placements] == [Rule.ELSEWHERE, Rule.PROMPT, Rule.SUMMARY]


def test_the_stream_of_a_run_is_a_conversation_too() -> None:
    talk = conversation(
        {"type": "system", "subtype": "init", "session_id": "s1", "uuid": "i", "tools": [], "cwd": "/a"},
        {"type": "assistant", "uuid": "a1", "session_id": "s1", "parent_tool_use_id": None}
        | {"message": {"id": "m1", "content": [{"type": "text", "text": "Hello"}]}},
        {"type": "result", "subtype": "success", "uuid": "z", "session_id": "s1", "result": "Hello"},
    )
    assert [placement.rule for placement in talk.placements] == [Rule.STATE, Rule.ANSWER, Rule.SYSTEM]


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        ({"type": "mode", "mode": "normal"}, Rule.STATE),
        ({"type": "never-seen", "uuid": "n"}, Rule.UNKNOWN),
        ({"type": "system", "subtype": "api_error", "uuid": "e", "level": "error"}, Rule.SYSTEM),
        ({"type": "file-history-snapshot", "messageId": "u"}, Rule.STATE),
        ({"type": "saved_hook_context", "content": ["remember"]}, Rule.HOOK),
        ({"type": "queue-operation", "operation": "dequeue"}, Rule.QUEUE),
    ],
)
def test_other_entries_have_their_place_by_type(entry: dict[str, object], rule: Rule) -> None:
    assert [placement.rule for placement in conversation(entry).placements] == [rule]


def test_a_stop_hook_shows_only_when_it_complains() -> None:
    quiet: dict[str, object] = {
        "type": "system",
        "subtype": "stop_hook_summary",
        "uuid": "h",
        "sessionId": "s",
        "hookErrors": [],
    }
    talk = conversation(quiet, quiet | {"uuid": "h2", "hookErrors": ["no"]})
    assert [placement.rule for placement in talk.placements] == [Rule.FOOTER, Rule.HOOK]


def test_a_line_that_answers_its_own_call_is_shown() -> None:
    call = {"type": "tool_use", "id": "n0", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "n0", "content": "a b"}
    talk = conversation({"type": "user", "sessionId": "s", "message": {"content": [call, result]}})
    assert [(placement.rule, placement.message) for placement in talk.placements] == [(Rule.LONE_RESULT, 0)]


@given(st.one_of(sessions, st.lists(any_line, max_size=6)))
def test_each_line_has_exactly_one_place_whatever_it_is(raw: list[bytes]) -> None:
    talk = Conversation(turnlog.decode(line) for line in raw)
    assert len(talk.placements) == len(talk.lines)
    seen = [id(line) for message in talk.messages for line in (*message.lines, *message.folded)]
    assert len(seen) == len(set(seen))
    for line, placement in zip(talk.lines, talk.placements, strict=True):
        inside = placement.message is not None
        if placement.message is not None and placement.display is LineDisplay.HIDDEN:
            # Metadata has a number, and is shown to nobody.
            assert placement.rule is Rule.META
            assert talk.messages[placement.message].is_hidden
        else:
            assert inside is (placement.display in (LineDisplay.SHOWN, LineDisplay.FOLDED))
        assert inside is (id(line) in seen)
    for message in talk.messages:
        assert (message.text, message.thinking, message.author, message.category, message.id) is not None


def test_each_line_of_the_corpus_has_one_place_and_the_counts_are_as_reviewed(
    corpus: Path, report: Callable[[str], None]
) -> None:
    counts: dict[str, dict[str, int]] = {display.value: {} for display in LineDisplay}
    for path in sorted(corpus.glob("sessions/**/*.jsonl")):
        talk = Conversation(read_lines(path))
        assert len(talk.placements) == len(talk.lines)
        inside = [id(line) for message in talk.messages for line in (*message.lines, *message.folded)]
        assert len(inside) == len(set(inside)) == sum(p.message is not None for p in talk.placements)
        for placement in talk.placements:
            display = counts[placement.display.value]
            display[placement.rule.value] = display.get(placement.rule.value, 0) + 1
    report("\n".join(f"{display}: {dict(sorted(found.items()))}" for display, found in counts.items()))
    assert counts == json.loads(CORPUS_COUNTS.read_text())


def prompt(uuid: str, content: object) -> dict[str, object]:
    return {"type": "user", "uuid": uuid, "sessionId": "s", "message": {"role": "user", "content": content}}


def answer(uuid: str, identity: str, *blocks: object) -> dict[str, object]:
    message = {"id": identity, "role": "assistant", "content": list(blocks)}
    return {"type": "assistant", "uuid": uuid, "sessionId": "s", "message": message}
