"""Whatever the real program writes is typed to the last field: on disk, in its stream, and for its hooks."""

from __future__ import annotations

from collections.abc import Iterable

from all_views import tool_names, view_all
from real_program.recordings import Recording
from turnlog import Line
from turnlog.messages.hook_events import BaseHookInput
from turnlog.messages.sdk.messages import PartialAssistantMessage
from turnlog.messages.sdk.stream import AssembledMessage, MessageAssembler
from turnlog.transcripts import build_calls

_WRONG = (b"toolu_unheard_of", b"toolu_misused")
"""Calls that the script makes wrong on purpose."""


def _list_problems(lines: Iterable[Line]) -> list[str]:
    found = ((type(line.entry).__name__, each) for line in lines for each in line.problems)
    return sorted({f"{entry}: {each.kind.value}, {each.found} at {each.path}" for entry, each in found})


def test_every_line_on_disk_is_typed(any_recording: Recording) -> None:
    assert _list_problems(line for lines in any_recording.files.values() for line in lines) == []


def test_every_message_of_the_stream_is_typed(any_recording: Recording) -> None:
    assert _list_problems(line for stream in any_recording.streams for line in stream) == []


def test_every_hook_event_is_typed(any_recording: Recording) -> None:
    assert any_recording.hooks
    assert all(isinstance(line.entry, BaseHookInput) for line in any_recording.hooks)
    assert _list_problems(any_recording.hooks) == []


def test_every_input_and_result_of_a_tool_is_typed(any_recording: Recording) -> None:
    groups = [*any_recording.files.values(), *any_recording.streams, any_recording.hooks]
    entries = [line.entry for lines in groups for line in lines if not any(name in line.raw for name in _WRONG)]
    names = tool_names(entries)
    problems = [each for entry in entries for view in view_all(entry, names) for each in view.problems]
    assert sorted({str(each) for each in problems}) == []


def test_reading_gives_back_every_byte(any_recording: Recording) -> None:
    for path, lines in any_recording.files.items():
        assert b"".join(line.raw + b"\n" for line in lines) == path.read_bytes()


def test_the_program_asked_for_what_the_script_has_and_nothing_else(any_recording: Recording) -> None:
    assert {each.path for each in any_recording.ledger} == {"/v1/messages"}
    assert {each.cue for each in any_recording.ledger} == {each.cue for each in any_recording.scenario.replies}


def test_parts_of_messages_assemble_to_what_was_served(tools: Recording) -> None:
    assembler = MessageAssembler()
    entries = [line.entry for line in tools.streams[0]]
    parts = [assembler.add(entry) for entry in entries if isinstance(entry, PartialAssistantMessage)]
    whole = [each for each in parts if each is not None]
    assert [each.message.id for each in whole] == [each.message for each in tools.ledger]
    assert all(each.is_complete and not each.problems for each in whole)
    assert [_output_of(each) for each in whole] == [each.usage["output_tokens"] for each in tools.ledger]


def test_stream_and_disk_tell_of_the_same_calls(any_recording: Recording) -> None:
    streamed = build_calls(line for stream in any_recording.streams for line in stream).calls
    on_disk = any_recording.calls
    assert {each.id for each in streamed} == set(on_disk)
    for each in streamed:
        # What was still running when the program was killed got its result when it was resumed, on disk alone.
        if each.result is not None:
            assert each.state == on_disk[str(each.id)].state


def _output_of(assembled: AssembledMessage) -> object:
    usage = assembled.message.usage
    return usage.output_tokens if usage else None
