from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
from turnlog.messages.base import UNSET
from turnlog.messages.blocks import CompactionBlock, TextBlock, ThinkingBlock, ToolUseBlock
from turnlog.messages.message import StopReason, Usage
from turnlog.messages.salvage import Problem, ProblemKind, view
from turnlog.messages.sdk.messages import (
    AssistantMessage,
    PartialAssistantMessage,
    StreamEvent,
    StreamHead,
    find_class,
)
from turnlog.messages.sdk.stream import AssembledMessage, MessageAssembler, Thread

MAIN = Thread("s-1")
STREAMS = ["assemble-blocks", "assemble-api-side", "assemble-interleaved"]


def decoded(lines: Iterable[bytes]) -> Iterator[Any]:
    for line in lines:
        cls = find_class(msgspec.json.decode(line, type=StreamHead))
        assert cls is not None
        yield msgspec.json.decode(line, type=cls)


def plain(value: object) -> Any:
    return json.loads(msgspec.json.encode(value))


def assemble(messages: Iterable[Any]) -> list[AssembledMessage]:
    assembler = MessageAssembler()
    ended = [assembler.add(each) for each in messages if isinstance(each, PartialAssistantMessage)]
    assert assembler.threads == ()
    return [each for each in ended if each is not None]


def complete(messages: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the blocks of the complete answers by message; each comes in a message of its own."""
    found: dict[str, list[Any]] = {}
    for each in messages:
        if isinstance(each, AssistantMessage):
            found.setdefault(plain(each.message)["id"], []).extend(plain(each.message)["content"])
    return found


def event(text: str, **more: object) -> StreamEvent:
    """Make an event, known or not."""
    found = view(
        PartialAssistantMessage, msgspec.json.encode({"type": "stream_event", "event": {"type": text, **more}})
    )
    assert isinstance(found.value, PartialAssistantMessage)
    return found.value.event


def start(identity: str = "msg-1", **more: object) -> StreamEvent:
    return event("message_start", message={"id": identity, "role": "assistant", "content": [], **more})


def block(index: int, **block: object) -> StreamEvent:
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, **delta: object) -> StreamEvent:
    return event("content_block_delta", index=index, delta=delta)


def stop(index: int) -> StreamEvent:
    return event("content_block_stop", index=index)


def fold(*events: StreamEvent) -> AssembledMessage:
    """Return what the events make, whether it is complete or not."""
    assembler = MessageAssembler()
    ended = [assembler.add_event(each) for each in events][-1] or assembler.snapshot()
    assert ended is not None
    return ended


def kinds(problems: Iterable[Problem]) -> list[tuple[ProblemKind, str]]:
    return [(problem.kind, problem.path) for problem in problems]


@pytest.mark.parametrize("name", STREAMS)
def test_events_make_the_message_that_the_complete_answers_carry(name: str) -> None:
    messages = list(decoded(golden.lines(f"stream/{name}")))

    made = assemble(messages)

    assert {each.message.id: plain(each.message)["content"] for each in made} == complete(messages)
    assert all(each.is_complete and not each.problems and not each.unfinished_inputs for each in made)


def test_events_of_real_streams_make_the_complete_answers(corpus: Path) -> None:
    for path in sorted((corpus / "stream").rglob("*.jsonl")):
        lines = path.read_bytes().split(b"\n")
        if not any(line.startswith(b'{"type":"stream_event"') for line in lines):
            continue
        messages = list(decoded(line for line in lines if line.strip()))
        made = assemble(messages)
        answers = complete(messages)
        assert made
        assert [plain(each.message)["content"] for each in made] == [
            answers[str(each.message.id)] for each in made
        ]
        assert not any(each.problems for each in made)


def test_threads_are_kept_apart_by_session_and_calling_tool() -> None:
    made = assemble(decoded(golden.lines("stream/assemble-interleaved")))

    assert [(each.thread, each.message.id) for each in made] == [
        (Thread("s-1", "call-1"), "msg-4"),
        (Thread("s-1"), "msg-3"),
    ]


def test_usage_and_stop_reason_come_with_the_end_and_leave_other_counters_alone() -> None:
    [made] = assemble(decoded(golden.lines("stream/assemble-blocks")))

    assert made.message.stop_reason is StopReason.TOOL_USE
    assert isinstance(made.message.usage, Usage)
    assert (made.message.usage.input_tokens, made.message.usage.output_tokens) == (3, 91)
    assert made.message.usage.cache_read_input_tokens == 30
    assert plain(made.message.context_management) == {"applied_edits": []}


def test_usage_may_come_with_the_end_only() -> None:
    assert fold(start(), event("message_delta", usage={"output_tokens": 5})).message.usage == Usage(
        output_tokens=5
    )


def test_a_message_delta_without_usage_keeps_that_of_the_start() -> None:
    made = fold(start(usage={"input_tokens": 3}), event("message_delta", delta={"stop_reason": "end_turn"}))

    assert made.message.usage == Usage(input_tokens=3)


def test_a_snapshot_shows_the_message_so_far() -> None:
    made = fold(start(), block(0, type="text", text=""), delta(0, type="text_delta", text="Hel"))

    assert made.message.id == "msg-1"
    assert made.message.content == (TextBlock(text="Hel"),)
    assert not made.is_complete


def test_a_snapshot_changes_nothing() -> None:
    messages = [each for each in decoded(golden.lines("stream/assemble-blocks")) if hasattr(each, "event")]
    assembler = MessageAssembler()
    ended = None
    for each in messages:
        ended = assembler.add(each)
        assembler.snapshot(MAIN)

    assert [ended] == assemble(messages)


def test_an_unfinished_input_is_kept_apart_as_text() -> None:
    call = block(1, type="tool_use", id="call-1", name="Read", input={})
    half = delta(1, type="input_json_delta", partial_json='{"file_path": "/a')
    rest = delta(1, type="input_json_delta", partial_json='.txt"}')

    assert fold(start(), call).unfinished_inputs == {}
    assert fold(start(), call, half).unfinished_inputs == {1: '{"file_path": "/a'}
    assert fold(start(), call, half).message.content == (ToolUseBlock(id="call-1", name="Read"),)
    assert fold(start(), call, half, rest).unfinished_inputs == {}
    assert plain(fold(start(), call, half, rest).message)["content"][0]["input"] == {"file_path": "/a.txt"}


def test_an_input_that_ends_unfinished_is_a_problem() -> None:
    call = block(0, type="tool_use", id="call-1", name="Read", input={})

    made = fold(
        start(), call, delta(0, type="input_json_delta", partial_json='{"a'), stop(0), event("message_stop")
    )

    assert made.is_complete
    assert kinds(made.problems) == [(ProblemKind.MALFORMED, "$.content[0]")]
    assert made.problems[0].unknown is not None
    assert made.problems[0].unknown.raw == b'{"a'
    assert made.unfinished_inputs == {0: '{"a'}


def test_blocks_stand_in_the_order_of_their_indexes() -> None:
    made = fold(start(), block(1, type="text", text="b"), block(0, type="text", text="a"))

    assert made.message.content == (TextBlock(text="a"), TextBlock(text="b"))


def test_content_of_the_start_counts() -> None:
    made = fold(start(content=[{"type": "text", "text": "{"}]), delta(0, type="text_delta", text="}"))

    assert made.message.content == (TextBlock(text="{}"),)


def test_a_text_grows_from_what_its_start_says() -> None:
    thinking = block(0, type="thinking", thinking="So ", signature="")

    made = fold(start(), thinking, delta(0, type="thinking_delta", thinking="far."))

    assert made.message.content == (ThinkingBlock(thinking="So far.", signature=""),)


def test_citations_follow_those_of_the_start() -> None:
    cited = {"type": "char_location", "cited_text": "A."}
    text = block(0, type="text", text="A.", citations=[cited])

    made = fold(start(), text, delta(0, type="citations_delta", citation=cited))

    assert plain(made.message.content) == [{"type": "text", "text": "A.", "citations": [cited, cited]}]


def test_an_unknown_block_is_kept_as_it_came() -> None:
    made = fold(start(), block(0, type="smell", smell="tea"), stop(0))

    assert [getattr(each, "raw", None) for each in made.message.content or ()] == [
        b'{"type":"smell","smell":"tea"}'
    ]
    assert made.problems == ()


@pytest.mark.parametrize(
    ("unfit", "kind", "path"),
    [
        (event("message_sigh", depth=3), ProblemKind.UNKNOWN_TYPE, "$"),
        (delta(0, type="smell_delta", smell="tea"), ProblemKind.UNKNOWN_TYPE, "$.content[0]"),
        (delta(0, type="input_json_delta", partial_json="{}"), ProblemKind.WRONG_TYPE, "$.content[0]"),
        (delta(7, type="text_delta", text="?"), ProblemKind.MISSING_FIELD, "$.content[7]"),
        (stop(7), ProblemKind.MISSING_FIELD, "$.content[7]"),
        (block(0, type="text", text="again"), ProblemKind.WRONG_TYPE, "$.content[0]"),
    ],
)
def test_what_does_not_fit_stays_visible(unfit: StreamEvent, kind: ProblemKind, path: str) -> None:
    made = fold(start(), block(0, type="text", text="a"), unfit)

    assert kinds(made.problems) == [(kind, path)]
    assert made.problems[0].offset is None


def test_a_delta_that_does_not_fit_is_kept_with_its_problem() -> None:
    [problem] = fold(start(), delta(0, type="text_delta", text="?")).problems

    assert problem.unknown is not None
    assert json.loads(problem.unknown.raw) == {"type": "text_delta", "text": "?"}


def test_an_unknown_event_before_a_message_is_told_with_it() -> None:
    made = fold(event("message_sigh"), start("msg-2"))

    assert made.message.id == "msg-2"
    assert kinds(made.problems) == [(ProblemKind.UNKNOWN_TYPE, "$")]


def test_a_message_that_is_cut_off_comes_out_when_the_next_one_starts() -> None:
    assembler = MessageAssembler()
    assembler.add_event(start("msg-1"))
    assembler.add_event(event("error", error={"type": "overloaded_error", "message": "Overloaded"}))

    cut = assembler.add_event(start("msg-2"))

    assert cut is not None
    assert (cut.message.id, cut.is_complete) == ("msg-1", False)
    assert cut.error is not None
    assert cut.error.type == "overloaded_error"
    now = assembler.snapshot()
    assert now is not None
    assert (now.message.id, now.error) == ("msg-2", None)


def test_a_message_whose_start_was_missed_is_built_from_the_rest() -> None:
    made = fold(block(0, type="text", text="late"), event("message_delta", delta={"stop_reason": "end_turn"}))

    assert made.message.id is UNSET
    assert made.message.content == (TextBlock(text="late"),)
    assert made.message.stop_reason is StopReason.END_TURN


@pytest.mark.parametrize(
    "rest",
    [
        block(0, type="text", text="late"),
        event("message_delta", delta={"stop_reason": "end_turn"}),
        event("error", error={"type": "overloaded_error"}),
    ],
)
def test_the_rest_of_a_missed_message_is_not_mixed_with_the_next(rest: StreamEvent) -> None:
    assembler = MessageAssembler()
    assembler.add_event(rest)

    cut = assembler.add_event(start("msg-2"))

    assert cut is not None
    assert cut.message.id is UNSET
    assert assembler.snapshot() == fold(start("msg-2"))


def test_a_compaction_without_content_stays_without() -> None:
    empty = block(0, type="compaction", content=None)

    assert fold(start(), empty, delta(0, type="compaction_delta", content=None)).message.content == (
        CompactionBlock(content=None),
    )


def test_a_compaction_grows_from_what_its_start_says() -> None:
    begun = block(0, type="compaction", content="We ")

    assert fold(start(), begun, delta(0, type="compaction_delta", content="met.")).message.content == (
        CompactionBlock(content="We met."),
    )


def test_finish_returns_what_there_is_and_forgets_it() -> None:
    assembler = MessageAssembler()
    assembler.add_event(start(), MAIN)

    assert list(assembler.threads) == [MAIN]
    found = assembler.finish(MAIN)
    assert found is not None
    assert (found.message.id, found.is_complete) == ("msg-1", False)
    assert list(assembler.threads) == []
    assert assembler.finish(MAIN) is None
    assert assembler.snapshot(MAIN) is None


def test_a_ping_starts_nothing() -> None:
    assembler = MessageAssembler()

    assert assembler.add_event(event("ping")) is None
    assert assembler.threads == ()


EVENTS = [each.event for each in decoded(golden.lines("stream/assemble-blocks")) if hasattr(each, "event")]
EVENTS += [each.event for each in decoded(golden.lines("stream/events"))]
EVENTS += [event("message_sigh"), delta(1, type="smell_delta"), block(1, type="smell")]


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_no_order_of_events_raises(events: list[StreamEvent]) -> None:
    assembler = MessageAssembler()
    for each in events:
        found = assembler.add_event(each) or assembler.snapshot()
        if found is not None:
            assert isinstance(found.message.content, tuple)
            assert all(str(problem) for problem in found.problems)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.lists(st.integers(0, 60)))
def test_it_does_not_matter_where_a_text_was_cut(text: str, cuts: list[int]) -> None:
    written = json.dumps({"text": text})
    edges = sorted({0, len(written), *(cut for cut in cuts if cut < len(written))})
    pieces = [written[a:b] for a, b in pairwise(edges)]
    call = block(0, type="tool_use", id="call-1", name="Say", input={})

    made = fold(
        start(), call, *(delta(0, type="input_json_delta", partial_json=piece) for piece in pieces), stop(0)
    )

    assert plain(made.message)["content"][0]["input"] == {"text": text}
    assert made.problems == ()
