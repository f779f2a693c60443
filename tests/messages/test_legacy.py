from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

import golden
import turnlog
from turnlog import UNSET, ProblemKind, UnknownEntry, UnknownTypeError
from turnlog.messages import legacy
from turnlog.messages.base import Raw
from turnlog.messages.blocks import (
    Base64Source,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from turnlog.messages.entries import (
    AssistantEntry,
    CompactionEntry,
    CompactionPhase,
    CompactionStatistics,
    UserEntry,
)
from turnlog.messages.legacy import LegacyLine, System000
from turnlog.messages.message import Message, Usage
from turnlog.messages.system import SystemNotice

T = TypeVar("T")
LINES = golden.all_legacy_lines()
START = datetime(2025, 2, 3, 9, tzinfo=UTC)


def entry(name: str, cls: type[T]) -> T:
    """Return the entry of a golden line, named `<dialect>:<number>`."""
    found = turnlog.decode(LINES[name]).entry
    assert isinstance(found, cls)
    return found


def wire(name: str, cls: type[T]) -> T:
    found = turnlog.decode(LINES[name]).wire
    assert isinstance(found, cls)
    return found


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_golden_line_is_wholly_typed_and_gives_back_its_bytes(line: bytes) -> None:
    decoded = turnlog.decode(line)

    assert decoded.problems == ()
    assert isinstance(decoded.wire, LegacyLine)
    assert not isinstance(decoded.entry, UnknownEntry)
    assert turnlog.encode(decoded) == line
    assert turnlog.decode(line, strict=True) == decoded


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_wire_says_all_that_its_line_says(line: bytes) -> None:
    decoded = turnlog.decode(line)

    assert decoded.wire is not None
    assert json.loads(turnlog.encode(decoded.wire)) == json.loads(line)


def test_every_line_type_is_reached_and_every_field_is_set_by_a_golden_line() -> None:
    found = list(golden.values())
    types = {*golden.structs(legacy), CompactionEntry, CompactionStatistics} - {LegacyLine}
    sparse = {"compact_metadata", "subtype"}  # any line of spec 004 may carry these
    missing = golden.fields_declared(legacy) - golden.fields_set(found)

    assert types - {type(value) for value in found} == set()
    assert {name for name in missing if name.partition(".")[2] not in sparse} == set()
    assert {f"User004.{name}" for name in sparse} & missing == set()


def test_flags_are_read() -> None:
    sidechain = entry("spec-000:2", UserEntry)
    deleted = entry("spec-000:20", UserEntry)
    aborted = entry("spec-000:21", AssistantEntry)
    active = entry("spec-004:9", UserEntry)
    gone = entry("spec-004:10", AssistantEntry)

    assert (sidechain.is_sidechain, sidechain.user_type) == (True, "external")
    assert (deleted.is_deleted, deleted.is_aborted) == (True, False)
    assert (aborted.is_aborted, aborted.is_deleted, aborted.is_meta) == (True, False, False)
    assert entry("spec-000:8", AssistantEntry).is_error is True
    assert (active.is_meta, active.is_active, active.is_deleted) == (True, True, False)
    assert (gone.is_error, gone.is_deleted, gone.is_aborted, gone.is_active) == (True, True, True, False)


def test_all_forms_of_time_are_one_instant() -> None:
    assert entry("spec-000:1", UserEntry).time == START + timedelta(seconds=1)
    human = entry("spec-004:1", UserEntry)
    assert human.timestamp == 1738573201234
    assert human.time == START + timedelta(milliseconds=1234)


def test_000_a_prompt_is_the_text_of_its_message() -> None:
    assert entry("spec-000:1", UserEntry).message == Message(content="Please draw me a teapot")
    assert entry("spec-000:3", UserEntry).message == Message()
    assert entry("spec-000:1", UserEntry).session_id == "s-000"


@pytest.mark.parametrize(
    ("name", "subtype", "block"),
    [
        ("spec-000:4", "response", TextBlock(text="I'll draw a teapot.")),
        ("spec-000:6", "thinking", ThinkingBlock(thinking="Spout left or right?")),
        ("spec-000:7", "command", TextBlock(text="/compact")),
        ("spec-000:8", "error", TextBlock(text="No clay left")),
        ("spec-000:10", UNSET, TextBlock(text="no subtype")),
    ],
)
def test_000_an_answer_is_a_block_of_its_kind(name: str, subtype: object, block: object) -> None:
    answer = entry(name, AssistantEntry)

    assert answer.subtype == subtype
    assert answer.message.content == (block,)


def test_000_a_call_is_a_block_without_an_id() -> None:
    call = ToolUseBlock(name="Write", input=Raw(b'{"file_path":"/tea/pot.txt","content":"c[_]\\n","size":1e1}'))
    grep = ToolUseBlock(name="Grep", input=Raw(b'{"pattern":"crack"}'))

    assert entry("spec-000:5", AssistantEntry).message.content == (call,)
    assert entry("spec-000:9", AssistantEntry).message.content == (TextBlock(text="Looking for cracks."), grep)


def test_000_a_result_is_a_block_in_a_user_entry() -> None:
    done, failed = entry("spec-000:11", UserEntry), entry("spec-000:12", UserEntry)

    assert done.message.content == (ToolResultBlock(content="Drawn: /tea/pot.txt"),)
    assert failed.message.content == (ToolResultBlock(content="Error: no paper", is_error=True),)
    assert wire("spec-000:11", System000).subtype is legacy.SystemNote.TOOL_RESULT


def test_000_errors_and_remarks_are_notices() -> None:
    error, meta = entry("spec-000:13", SystemNotice), entry("spec-000:14", SystemNotice)

    assert (error.content, error.is_error) == ("Error: the shelf is locked", True)
    assert (meta.content, meta.is_meta) == ("pots=1", True)
    assert wire("spec-000:13", System000).subtype is legacy.SystemNote.ERROR
    assert entry("spec-000:15", SystemNotice).content == "Kettle connected"
    assert wire("spec-000:15", System000).subtype is UNSET


def test_000_compaction_has_four_operations_with_statistics() -> None:
    steps = [entry(f"spec-000:{number}", CompactionEntry) for number in range(16, 20)]

    assert [step.phase for step in steps] == list(CompactionPhase)
    assert [step.statistics for step in steps] == [
        UNSET,
        CompactionStatistics(preserved_messages=4, total_messages=40, compression_ratio=0.1),
        CompactionStatistics(trigger="manual", pre_tokens=900, post_tokens=9000),
        None,
    ]


def test_004_a_human_line_is_a_prompt() -> None:
    prompt = entry("spec-004:1", UserEntry)

    assert prompt.message == Message(type="message", content="Write a poem about tea")
    assert (prompt.parent_uuid, prompt.session_id, prompt.version) == (None, "s-004", "1.0.128")
    assert wire("spec-004:1", legacy.Human004).message == prompt.message


def test_004_an_answer_is_an_api_message() -> None:
    answer = entry("spec-004:2", AssistantEntry)

    assert isinstance(answer.message.content, tuple)
    said, call = answer.message.content
    assert said == TextBlock(text="I'll write one.")
    assert isinstance(call, ToolUseBlock)
    assert (call.id, call.name) == ("toolu_h1", "Write")
    assert answer.message.usage == Usage(input_tokens=7, output_tokens=9)
    assert wire("spec-004:6", legacy.Assistant004).subtype == "report"


def test_004_a_tool_result_line_holds_result_blocks() -> None:
    result = ToolResultBlock(tool_use_id="toolu_h1", content="Written", is_error=False)

    assert entry("spec-004:3", UserEntry).message.content == (result,)


def test_004_an_image_is_a_block() -> None:
    image = ImageBlock(source=Base64Source(media_type="image/png", data="AAAA"))

    assert entry("spec-004:4", UserEntry).message.content == (TextBlock(text="Like this one?"), image)


def test_004_a_compaction_is_a_prelude_and_a_recap() -> None:
    prelude, recap = entry("spec-004:7", CompactionEntry), entry("spec-004:8", CompactionEntry)

    assert prelude.phase is CompactionPhase.COMPACTING
    assert prelude.prelude == Message(type="message", content="We spoke of poems.")
    assert recap.phase is CompactionPhase.COMPACTED
    assert recap.recap == Message(type="message", content="A poem about tea was written.")
    assert wire("spec-004:7", legacy.CompactPrelude004).compact_metadata == Raw(
        b'{"kept":3,"preservedMessages":2}'
    )
    assert prelude.statistics == CompactionStatistics(preserved_messages=2)


def test_004_a_system_line_is_a_notice() -> None:
    notice = entry("spec-004:12", SystemNotice)

    assert (notice.content, notice.is_meta) == ("Kettle connected", True)


@pytest.mark.parametrize(
    ("line", "found", "path"),
    [
        (b'{"type":"assistant","message":"x","subtype":"song"}', "`song`", "$.subtype"),
        (b'{"type":"system","message":"x","subtype":"song"}', "`song`", "$.subtype"),
        (b'{"type":"song","parent_uuid":null,"_id":"1","content":"x","session_id":"s"}', "`song`", "$.type"),
    ],
)
def test_an_unknown_type_or_subtype_is_a_problem_and_stays_visible(line: bytes, found: str, path: str) -> None:
    decoded = turnlog.decode(line)
    [problem] = decoded.problems

    assert (problem.kind, problem.found, problem.path) == (ProblemKind.UNKNOWN_TYPE, found, path)
    assert problem.unknown == turnlog.Unknown(b'"song"')
    assert turnlog.encode(decoded) == line
    with pytest.raises(UnknownTypeError) as caught:
        turnlog.decode(line, strict=True)
    assert (caught.value.found, caught.value.path, caught.value.offset) == (found, path, line.index(b'"song"'))


def test_an_unknown_subtype_leaves_the_rest_typed() -> None:
    answer = turnlog.decode(b'{"type":"assistant","message":"x","subtype":"song"}')
    note = turnlog.decode(b'{"type":"system","message":"x","subtype":"song"}')

    assert isinstance(answer.entry, AssistantEntry)
    assert (answer.entry.subtype, answer.entry.message.content) == ("song", (TextBlock(text="x"),))
    assert isinstance(note.entry, SystemNotice)
    assert isinstance(note.wire, System000)
    assert note.wire.subtype == "song"


def test_an_unknown_operation_of_a_compaction_stays_readable() -> None:
    line = turnlog.decode(b'{"type":"compact_system","message":"conversation_folded"}')

    assert isinstance(line.entry, CompactionEntry)
    assert line.entry.phase == "conversation_folded"
    assert not line.entry.phase.known
    assert [problem.path for problem in line.problems] == ["$.message"]
