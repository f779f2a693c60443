from __future__ import annotations

import json
from typing import Any, TypeVar

import pytest

import golden
import turnlog
from turnlog import UNSET, ProblemKind
from turnlog.messages import UnknownBlock
from turnlog.messages.base import Raw
from turnlog.messages.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.legacy import Api003, Document003, ObjectId, StoredDate, StoredNumber, StoredUsage
from turnlog.messages.message import Usage
from turnlog.messages.metadata import Summary

T = TypeVar("T")
LINES = golden.all_legacy_lines()


def entry(name: str, cls: type[T]) -> T:
    """Return the entry of a golden line, named `<dialect>:<number>`."""
    found = turnlog.decode(LINES[name]).entry
    assert isinstance(found, cls)
    return found


def wire(name: str, cls: type[T]) -> T:
    found = turnlog.decode(LINES[name]).wire
    assert isinstance(found, cls)
    return found


def test_a_document_holds_text_blocks_or_a_whole_message() -> None:
    whole = entry("spec-003-document:6", AssistantEntry).message

    assert entry("spec-003-document:1", UserEntry).message.content == "What does kettle.json hold?"
    assert entry("spec-003-document:7", UserEntry).message.content == (TextBlock(text="blocks"),)
    assert (whole.id, whole.role, whole.usage) == ("msg_1", "assistant", Usage(input_tokens=5, output_tokens=8))
    assert isinstance(whole.content, tuple)
    assert [type(block) for block in whole.content] == [TextBlock, ToolUseBlock]


def test_a_document_keeps_model_cost_and_usage() -> None:
    answer = entry("spec-003-document:5", AssistantEntry)
    document = wire("spec-003-document:5", Document003)
    counts: dict[str, Any] = {"input_tokens": 12, "output_tokens": 3}
    counts |= {"cache_creation_input_tokens": 100, "cache_read_input_tokens": 50}

    assert (answer.message.model, answer.cost_usd) == ("claude-opus-4-1", 0.012)
    assert answer.usage == Usage(**counts)
    assert document.usage == StoredUsage(**counts)
    assert document.created_at == 1738573202000


def test_a_document_is_named_by_text_or_by_an_object() -> None:
    assert wire("spec-003-document:4", Document003).id == "65f0"
    assert wire("spec-003-document:5", Document003).id == ObjectId(oid="65f1")
    assert wire("spec-003-document:1", Document003).id is UNSET


def test_dates_and_numbers_of_an_export_are_plain_in_the_entry() -> None:
    relaxed = entry("spec-003-document:13", AssistantEntry)
    canonical = entry("spec-003-document:14", AssistantEntry)

    assert (relaxed.timestamp, relaxed.cost_usd) == ("2025-02-03T09:00:06.250Z", 0.012)
    assert relaxed.usage == Usage(input_tokens=12, output_tokens=3, cache_creation_input_tokens=0)
    assert (canonical.timestamp, canonical.cost_usd) == (1738573208000, 0.5)
    for name, instant in {"13": "2025-02-03 09:00:06.250000+00:00", "14": "2025-02-03 09:00:08+00:00"}.items():
        assert str(wire(f"spec-003-document:{name}", Document003).time) == instant
        assert str(entry(f"spec-003-document:{name}", AssistantEntry).time) == instant


def test_a_changed_date_or_number_of_an_export_stays_in_its_form() -> None:
    relaxed = turnlog.decode(LINES["spec-003-document:13"])
    canonical = turnlog.decode(LINES["spec-003-document:14"])
    usage = Usage(input_tokens=12, output_tokens=4, cache_creation_input_tokens=0)

    changed = relaxed.replace(timestamp="2025-02-04T09:00:00Z", usage=usage)
    later = canonical.replace(timestamp=1738573209000, cost_usd=1.5)

    assert changed.raw == relaxed.raw.replace(b"2025-02-03T09:00:06.250Z", b"2025-02-04T09:00:00Z").replace(
        b'{"$numberLong":"3"}', b'{"$numberLong":"4"}'
    )
    assert later.raw == canonical.raw.replace(b'"1738573208000"', b'"1738573209000"').replace(b"0.5", b"1.5")


def test_a_date_of_an_export_can_be_taken_away() -> None:
    line = turnlog.decode(LINES["spec-003-document:13"])

    assert b"timestamp" not in line.replace(timestamp=UNSET).raw


def test_a_number_that_its_form_cannot_say_is_refused() -> None:
    line = turnlog.decode(LINES["spec-003-document:14"])

    with pytest.raises(turnlog.ChangeError):
        line.replace(timestamp=0.5)


@pytest.mark.parametrize(
    ("member", "path"),
    [
        (b'"costUsd":{"$numberDouble":"NaN"}', "$.costUsd"),
        (b'"costUsd":{"$numberDecimal":"dear"}', "$.costUsd"),
        (b'"costUsd":{}', "$.costUsd"),
        (b'"timestamp":{"$date":{"$numberLong":"1e3"}}', "$.timestamp"),
        (b'"createdAt":{"$date":{"$numberLong":"soon"}}', "$.createdAt"),
        (b'"usage":{"inputTokens":{"$numberInt":"%s"}}' % (b"9" * 5000), "$.usage.inputTokens"),
    ],
)
def test_a_number_of_an_export_that_is_none_is_a_problem_and_outlives_a_change(
    member: bytes, path: str
) -> None:
    raw = b'{"_id":"1","type":"assistant","content":"x","cwd":"/a",' + member + b"}"
    line = turnlog.decode(raw)

    assert [(problem.kind, problem.path) for problem in line.problems] == [(ProblemKind.WRONG_TYPE, path)]
    assert isinstance(line.entry, AssistantEntry)
    assert (line.entry.cost_usd, line.entry.timestamp) == (UNSET, UNSET)
    assert line.replace(cwd="/b").raw == raw.replace(b"/a", b"/b")


def test_a_number_without_any_form_gets_one_when_it_is_changed() -> None:
    line = turnlog.decode(b'{"_id":"1","type":"assistant","content":"x","costUsd":{}}')

    assert line.replace(cost_usd=2.5).raw == line.raw.replace(b"{}", b'{"$numberDouble":"2.5"}')


def test_an_export_is_typed_as_it_stands() -> None:
    document = wire("spec-003-document:13", Document003)

    assert document.cost_usd == StoredNumber(double="0.0120")
    assert document.created_at == StoredDate(date=StoredNumber(int64="1738573207000"))


def test_a_document_may_hold_its_blocks_in_a_message() -> None:
    # So does the spec's own example of an answer with a call.
    members: dict[str, Any] = {"_id": "65f8", "type": "assistant", "uuid": "d-08", "costUsd": 0.1}
    call = {"type": "tool_use", "id": "call-1", "name": "Read", "input": {}}
    line = turnlog.decode(json.dumps({**members, "message": {"content": [call]}}))

    assert line.problems == ()
    assert isinstance(line.entry, AssistantEntry)
    assert line.entry.message.content == (ToolUseBlock(id="call-1", name="Read", input=Raw(b"{}")),)


@pytest.mark.parametrize("name", ["spec-003-document:8", "spec-003-document:9", "spec-003-api:7"])
def test_a_summary_is_a_title(name: str) -> None:
    titles = {"spec-003-document:8": "Setting a kettle", "spec-003-document:9": "Kettle, again"}

    assert entry(name, Summary).summary == titles.get(name, "Hot water")
    assert entry(name, Summary).session_id == "s-003"


@pytest.mark.parametrize(
    ("name", "call_id"),
    [
        ("spec-003-extracted:1", UNSET),
        ("spec-003-document:10", "call-1"),
        ("spec-003-api:3", UNSET),
    ],
)
def test_an_extracted_call_is_read_out_of_its_text(name: str, call_id: object) -> None:
    answer = entry(name, AssistantEntry)

    assert answer.is_sidechain is True
    assert isinstance(answer.message.content, tuple)
    [call] = answer.message.content
    assert isinstance(call, ToolUseBlock)
    assert (call.id, call.name) == (call_id, "Read")
    assert isinstance(call.input, Raw)
    assert json.loads(bytes(call.input)) == {"file_path": "/tea/kettle.json"}


@pytest.mark.parametrize("name", ["spec-003-document:11", "spec-003-api:4"])
def test_an_extracted_result_is_the_text_it_holds(name: str) -> None:
    assert entry(name, UserEntry).message.content == (ToolResultBlock(content='{"degrees": 80}'),)


def test_the_api_is_the_same_in_snake_case() -> None:
    answer, thanks = entry("spec-003-api:2", AssistantEntry), entry("spec-003-api:5", UserEntry)
    usage = Usage(input_tokens=12, output_tokens=3, cache_creation_input_tokens=100, cache_read_input_tokens=50)

    assert (answer.uuid, answer.parent_uuid, answer.session_id) == ("a-02", "a-01", "s-003")
    assert (answer.message.model, answer.cost_usd, answer.usage) == ("claude-opus-4-1", 0.012, usage)
    assert (thanks.cwd, thanks.version, thanks.git_branch) == ("/tea", "1.0.1", "main")
    assert entry("spec-003-api:7", Summary).leaf_uuid == "a-06"


def test_the_api_repeats_ids_under_other_names() -> None:
    aliases = wire("spec-003-api:5", Api003)

    assert (aliases.message_uuid, aliases.parent_uuid_alias, aliases.session_id_alias) == (
        "a-05",
        "a-04",
        "s-003",
    )


def test_the_sidechain_flag_is_read_in_both_spellings() -> None:
    flags = [
        golden.envelope(turnlog.decode(LINES[f"spec-003-api:{number}"])).is_sidechain for number in range(1, 6)
    ]

    assert flags == [UNSET, False, True, True, False]


def test_the_counters_of_the_api_all_reach_the_entry() -> None:
    line = turnlog.decode(
        b'{"type":"assistant","parent_uuid":null,"content":"x",'
        b'"usage":{"output_tokens":1,"speed":"fast","cache_creation":{"ephemeral_1h_input_tokens":2}}}'
    )

    assert isinstance(line.wire, Api003)
    assert isinstance(line.entry, AssistantEntry)
    assert line.entry.usage == line.wire.usage


def call_line(text: str) -> bytes:
    return json.dumps({"type": "tool_use", "uuid": "e-1", "content": text}).encode()


@pytest.mark.parametrize("text", ["Read(kettle.json)", "", "[]", '{"type":"tool_use"}', '{"type":"hologram"}'])
def test_a_call_whose_text_says_no_call_stays_visible(text: str) -> None:
    line = turnlog.decode(call_line(text))

    assert isinstance(line.entry, AssistantEntry)
    assert isinstance(line.entry.message.content, tuple)
    [block] = line.entry.message.content
    assert isinstance(block, UnknownBlock)
    assert block.raw == text.encode()
    assert {problem.path for problem in line.problems} == {"$.content"}
    with pytest.raises(turnlog.DecodeError, match=r"\$\.content"):
        turnlog.decode(call_line(text), strict=True)


def test_a_new_field_of_an_extracted_call_leaves_the_call_typed() -> None:
    line = turnlog.decode(call_line('{"type":"tool_use","name":"Read","input":{},"mood":"calm"}'))

    assert isinstance(line.entry, AssistantEntry)
    assert line.entry.message.content == (ToolUseBlock(name="Read", input=Raw(b"{}")),)
    assert [problem.kind for problem in line.problems] == [ProblemKind.UNKNOWN_FIELD]
