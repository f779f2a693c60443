from __future__ import annotations

import json
from typing import get_args

import msgspec
import pytest

import golden
import turnlog
from turnlog import UNSET, Dialect, UnknownEntry
from turnlog.messages import entries, message
from turnlog.messages.base import Raw
from turnlog.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, Entry, Progress, ProgressEntry, UserEntry
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.message import MessageOrigin, OriginKind, StopReason

LINES = golden.all_entry_lines()


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_golden_line_is_wholly_typed_and_gives_back_its_bytes(line: bytes) -> None:
    decoded = turnlog.decode(line)

    assert decoded.problems == ()
    assert decoded.dialect is Dialect.CLAUDE_CODE
    assert decoded.wire is None
    assert decoded.raw == line
    assert turnlog.encode(decoded) == line


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_an_entry_says_all_that_its_line_says(line: bytes) -> None:
    assert json.loads(turnlog.encode(turnlog.decode(line).entry)) == json.loads(line)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_text_and_bytes_decode_alike_and_strictness_changes_nothing(line: bytes) -> None:
    assert turnlog.decode(line.decode()) == turnlog.decode(line) == turnlog.decode(line, strict=True)


def test_every_type_of_entry_is_reached_by_a_golden_line() -> None:
    reached = {type(value) for value in golden.values()}

    assert [cls.__name__ for cls in get_args(Entry) if cls not in reached] == [UnknownEntry.__name__]


def test_every_field_of_entries_and_messages_is_set_by_a_golden_line() -> None:
    declared = golden.fields_declared(entries, message)
    of_broken_lines = {"UnknownEntry.raw", "UnknownEntry.type", "UnknownEntry.subtype"}

    progress = msgspec.json.Decoder(Progress).decode_lines((golden.DATA / "progress.jsonl").read_bytes())
    found = golden.fields_set([*golden.values(), *golden.walk(tuple(progress))])

    assert declared - found == of_broken_lines


def test_a_prompt_is_text() -> None:
    prompt = golden.entry("user-prompt-text", UserEntry)

    assert prompt.message.role == "user"
    assert prompt.message.content == "How long does green tea steep?"
    assert prompt.permission_mode is PermissionMode.DEFAULT
    assert prompt.prompt_source is entries.PromptSource.TYPED


def test_a_prompt_may_consist_of_blocks() -> None:
    prompt = golden.entry("user-prompt-blocks", UserEntry)

    assert isinstance(prompt.message.content, tuple)
    assert prompt.message.content[0] == TextBlock(text="What is on this picture?")
    assert prompt.image_paste_ids == (1, "2")


def test_empty_and_null_contents_are_told_apart() -> None:
    empty = [turnlog.decode(line).entry for line in golden.entry_lines("content-empty")]
    null = [turnlog.decode(line).entry for line in golden.entry_lines("content-null")]
    contents = [each.message.content for each in empty + null if isinstance(each, UserEntry | AssistantEntry)]

    assert contents == ["", (), (), "", (TextBlock(text=""),), None, None]


def test_every_known_prompt_source_and_permission_mode_is_a_member() -> None:
    sources = [prompt.prompt_source for prompt in golden.entries("user-prompt-source", UserEntry)]
    modes = [prompt.permission_mode for prompt in golden.entries("user-permission-mode", UserEntry)]

    assert sources == list(entries.PromptSource)
    assert modes == list(PermissionMode)


def test_an_origin_is_an_object_a_bare_kind_or_null() -> None:
    told = golden.entries("user-origin-object", UserEntry)[0].origin
    bare, null = golden.entries("user-origin-string", UserEntry)

    assert isinstance(told, MessageOrigin)
    assert (told.kind, told.sender, told.msg_id) == (OriginKind.PEER, "agent-1", "m-1")
    assert told.hop_chain == ("s-9", "s-1")
    assert bare.origin == "human"
    assert null.origin is None


@pytest.mark.parametrize("form", ["object", "string", "list"])
def test_a_tool_use_result_of_any_form_is_kept_as_it_came(form: str) -> None:
    line = golden.entry_lines(f"tool-use-result-{form}")[0]
    result = golden.entry(f"tool-use-result-{form}", UserEntry).tool_use_result

    assert isinstance(result, Raw)
    assert json.loads(bytes(result)) == json.loads(line)["toolUseResult"]
    assert bytes(result) in line


def test_irregular_wire_names_have_regular_python_names() -> None:
    denied = golden.entry("user-tool-denied", UserEntry)
    skill = golden.entry("user-skill-body", UserEntry)
    old = golden.entry("assistant-legacy-cost", AssistantEntry)
    progress = golden.entry("progress-hook", ProgressEntry)

    assert denied.source_tool_assistant_uuid == "u-000"
    assert skill.source_tool_use_id == "toolu_05"
    assert old.cost_usd == 0.0123
    assert (progress.tool_use_id, progress.parent_tool_use_id) == ("toolu_01", "toolu_00")


def test_a_compact_summary_says_what_it_stands_for() -> None:
    summary = golden.entry("user-compact-summary", UserEntry)

    assert summary.is_compact_summary is True
    assert summary.is_visible_in_transcript_only is True
    assert isinstance(summary.summarize_metadata, entries.SummarizeMetadata)
    assert summary.summarize_metadata.messages_summarized == 12


def test_thinking_triggers_are_words_or_ranges() -> None:
    words, budget = (prompt.thinking_metadata for prompt in golden.entries("user-thinking-metadata", UserEntry))

    assert isinstance(words, entries.ThinkingMetadata)
    assert words.triggers == (entries.ThinkingTrigger(start=0, end=10, text="ultrathink"), "think")
    assert isinstance(budget, entries.ThinkingMetadata)
    assert budget.max_thinking_tokens == 31999
    assert budget.triggers is UNSET


def test_the_lines_of_one_answer_share_its_id_and_hold_one_block_each() -> None:
    parts = golden.entries("assistant-split-message", AssistantEntry)
    blocks = [part.message.content[0] for part in parts if isinstance(part.message.content, tuple)]

    assert {part.message.id for part in parts} == {"msg_split"}
    assert [type(block) for block in blocks] == [ThinkingBlock, TextBlock, ToolUseBlock]
    assert [part.api_block_index for part in parts] == [0, 1, 2]
    assert [part.message.stop_reason for part in parts] == [None, None, StopReason.TOOL_USE]


def test_every_known_stop_reason_is_reached() -> None:
    reached = {value.stop_reason for value in golden.values() if isinstance(value, message.Message)}

    assert reached >= set(StopReason)


def test_a_request_id_may_be_absent_or_null() -> None:
    absent, null = golden.entries("assistant-without-request-id", AssistantEntry)

    assert absent.request_id is UNSET
    assert null.request_id is None


def test_an_error_is_a_word_or_an_object() -> None:
    word, told = golden.entries("assistant-api-error", AssistantEntry)

    assert (word.error, word.api_error_status, word.message.model) == ("overloaded", 529, "<synthetic>")
    assert told.error == entries.ErrorObject(type="rate_limit", message="slow down", status=429)
    assert told.api_error_status == "429"


def test_the_second_form_of_a_tool_input_is_found_by_its_call() -> None:
    answer = golden.entry("assistant-wire-tool-inputs", AssistantEntry)

    assert isinstance(answer.wire_tool_inputs, dict)
    assert bytes(answer.wire_tool_inputs["toolu_03"]) == b'{"command":"cd /home/ada && make"}'
    assert answer.wire_ingest_context == {"toolu_03": entries.WireContext(cwd="/home/ada")}


def test_an_attachment_says_what_the_model_received() -> None:
    attached = golden.entry("attachment-rendered", AttachmentEntry)

    assert attached.rendered == (entries.Rendered(content="Today is 2026-03-01."),)
    assert attached.rendered_role == "system"


def test_the_place_of_the_type_does_not_matter() -> None:
    for name in ("type-before-message", "type-after-message"):
        answer, prompt = (turnlog.decode(line).entry for line in golden.entry_lines(name))
        assert isinstance(answer, AssistantEntry)
        assert isinstance(prompt, UserEntry)


def test_a_type_that_is_only_quoted_does_not_mislead() -> None:
    quoting = turnlog.decode(golden.entry_lines("type-of-another-in-tail")[0]).entry

    assert isinstance(quoting, UserEntry)
    assert quoting.message.content == 'say "type":"assistant"'


def test_escapes_and_line_separators_are_read_as_text() -> None:
    escaped, by_key = golden.entries("string-escapes", UserEntry)

    assert escaped.message.content == 'a/b é 🍵 A \t\n"\\'
    assert escaped.cwd == "/home/ada"
    assert by_key.message.content == "an escaped key"
    assert golden.entry("line-separators", UserEntry).message.content == "a\u2028b\u2029c\u0085d"


def test_of_repeated_keys_the_last_counts() -> None:
    assert golden.entry("keys-repeated", UserEntry).cwd == "/new"
