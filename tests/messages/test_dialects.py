from __future__ import annotations

import json
from typing import Any

import pytest

import golden
import turnlog
from turnlog import Dialect, ProblemKind, UnknownEntry
from turnlog.messages import system
from turnlog.messages.attachments import DateAttachment
from turnlog.messages.blocks import TextBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, UserEntry
from turnlog.messages.metadata import AiTitle, JournalResult
from turnlog.messages.sdk.messages import AssistantMessage
from turnlog.messages.system import SystemNotice

MS = 1738573200000
ISO = "2025-02-03T09:00:00Z"
CALL = json.dumps({"type": "tool_use", "name": "Read", "input": {}})
SAID = {"role": "user", "content": "hello"}


def decode(**members: Any) -> turnlog.Line:
    return turnlog.decode(json.dumps(members))


LEGACY = golden.all_legacy_lines()


@pytest.mark.parametrize(("name", "line"), LEGACY.items(), ids=LEGACY)
def test_a_golden_line_is_of_the_dialect_of_its_file(name: str, line: bytes) -> None:
    assert turnlog.decode(line).dialect == name.partition(":")[0]


@pytest.mark.parametrize(
    ("members", "dialect"),
    [
        # A prompt: where its words stand, and in which form.
        ({"type": "user", "message": SAID}, Dialect.CLAUDE_CODE),
        ({"type": "user", "message": "hello"}, Dialect.SPEC_000),
        ({"type": "user", "uuid": "u", "timestamp": ISO, "sessionId": "s"}, Dialect.SPEC_000),
        ({"type": "user", "content": "hello"}, Dialect.SPEC_003_DOCUMENT),
        ({"type": "user", "messageData": SAID}, Dialect.SPEC_003_DOCUMENT),
        ({"type": "user", "_id": "1", "content": "hello"}, Dialect.SPEC_003_DOCUMENT),
        ({"type": "user", "parent_uuid": None, "content": "hello"}, Dialect.SPEC_003_API),
        ({"type": "human", "message": SAID, "timestamp": MS}, Dialect.SPEC_004),
        ({"type": "human", "message": SAID, "timestamp": ISO}, Dialect.SPEC_004),
        ({"type": "human", "message": SAID}, Dialect.SPEC_004),
        ({"type": "user", "message": SAID, "timestamp": MS}, Dialect.SPEC_004),
        # The least that the API's own type definition allows.
        (
            {"_id": "1", "uuid": "u", "session_id": "s", "type": "user", "content": "hi", "timestamp": ISO},
            Dialect.SPEC_003_API,
        ),
        ({"type": "user", "uuid": "u", "session_id": "s", "content": "hi"}, Dialect.SPEC_003_API),
        # An answer.
        ({"type": "assistant", "message": {"content": []}, "timestamp": ISO}, Dialect.CLAUDE_CODE),
        ({"type": "assistant", "message": {"content": []}, "timestamp": MS}, Dialect.SPEC_004),
        ({"type": "assistant", "message": "hello"}, Dialect.SPEC_000),
        ({"type": "assistant", "toolName": "Read", "toolArguments": {}}, Dialect.SPEC_000),
        ({"type": "assistant", "content": "hello"}, Dialect.SPEC_003_DOCUMENT),
        ({"type": "assistant", "content": "hello", "costUsd": 0.1}, Dialect.SPEC_003_DOCUMENT),
        ({"type": "assistant", "content": "hello", "cost_usd": 0.1}, Dialect.SPEC_003_API),
        # A call and a result as lines of their own.
        ({"type": "tool_use", "content": CALL}, Dialect.SPEC_003_EXTRACTED),
        ({"type": "tool_use", "content": CALL, "_id": "1"}, Dialect.SPEC_003_DOCUMENT),
        ({"type": "tool_use", "content": CALL, "parent_uuid": "u"}, Dialect.SPEC_003_API),
        ({"type": "tool_result", "content": "done"}, Dialect.SPEC_003_EXTRACTED),
        ({"type": "tool_result", "message": {"content": []}}, Dialect.SPEC_004),
        # What the program says.
        ({"type": "system", "content": "hello"}, Dialect.CLAUDE_CODE),
        ({"type": "system", "message": "hello"}, Dialect.SPEC_000),
        ({"type": "system", "subtype": "tool_result", "message": "done"}, Dialect.SPEC_000),
        ({"type": "system", "subtype": "tool_result", "uuid": "u"}, Dialect.SPEC_000),
        ({"type": "system", "subtype": "meta", "isMeta": True}, Dialect.SPEC_000),
        ({"type": "system", "subtype": "error", "isError": True}, Dialect.SPEC_000),
        ({"type": "compact_system", "message": "conversation_compacting"}, Dialect.SPEC_000),
        ({"type": "compact_prelude", "message": SAID}, Dialect.SPEC_004),
        ({"type": "compact_recap", "message": SAID}, Dialect.SPEC_004),
        # A title.
        ({"type": "summary", "summary": "Tea", "leafUuid": "u"}, Dialect.CLAUDE_CODE),
        ({"type": "summary", "summary": "Tea", "_id": "1"}, Dialect.SPEC_003_DOCUMENT),
    ],
    ids=lambda value: str(value) if isinstance(value, Dialect) else json.dumps(value),
)
def test_the_dialect_is_told_from_the_line_alone(members: dict[str, Any], dialect: Dialect) -> None:
    line = decode(**members)

    assert line.dialect is dialect
    assert line.problems == ()
    assert (line.wire is None) is (dialect is Dialect.CLAUDE_CODE)


BESIDE: list[tuple[dict[str, Any], type]] = [
    ({"type": "attachment", "attachment": {"type": "date", "date": "2026-03-01"}}, AttachmentEntry),
    ({"type": "system", "content": "hello"}, SystemNotice),
    ({"type": "system", "subtype": "informational", "content": "hello"}, system.Informational),
    ({"type": "ai-title", "aiTitle": "Tea"}, AiTitle),
]
SPOKEN: list[tuple[dict[str, Any], type]] = [
    ({"type": "user", "message": {"content": "hello"}}, UserEntry),
    ({"type": "assistant", "message": {"content": "hello"}}, AssistantEntry),
]
OF_STORES = ["_id", "createdAt", "costUsd", "messageData"]
OF_STORES += ["created_at", "cost_usd", "parent_uuid", "message_uuid"]
OF_OTHERS = ["brandNew", "toolName", "toolArguments", "metadata"]


def name_of(value: object) -> str:
    return value.__name__ if isinstance(value, type) else str(value) if isinstance(value, str) else ""


@pytest.mark.parametrize(("members", "cls"), BESIDE, ids=name_of)
@pytest.mark.parametrize("new", OF_STORES)
def test_only_messages_are_kept_in_stores(members: dict[str, Any], cls: type, new: str) -> None:
    line = decode(**members, **{new: "x"})

    assert (line.dialect, type(line.entry)) == (Dialect.CLAUDE_CODE, cls)
    assert [problem.path for problem in line.problems] == [f"$.{new}"]


@pytest.mark.parametrize(("members", "cls"), BESIDE + SPOKEN, ids=name_of)
@pytest.mark.parametrize("new", OF_OTHERS)
def test_a_new_field_does_not_make_a_line_of_today_an_old_one(
    members: dict[str, Any], cls: type, new: str
) -> None:
    line = decode(**members, **{new: "x"})

    assert (line.dialect, type(line.entry)) == (Dialect.CLAUDE_CODE, cls)
    assert [problem.path for problem in line.problems] == [f"$.{new}"]


@pytest.mark.parametrize(("members", "cls"), SPOKEN, ids=name_of)
@pytest.mark.parametrize("new", OF_STORES)
def test_a_message_is_read_whatever_stands_beside_it(members: dict[str, Any], cls: type, new: str) -> None:
    line = decode(**members, **{new: None})

    assert isinstance(line.entry, UserEntry | AssistantEntry)
    assert isinstance(line.entry, cls)
    assert line.entry.message.content == "hello"


def test_a_message_beside_a_known_subtype_is_but_a_new_field() -> None:
    line = decode(type="system", subtype="informational", content="hello", message="hello again")

    assert isinstance(line.entry, system.Informational)
    assert line.dialect is Dialect.CLAUDE_CODE


@pytest.mark.parametrize("extra", [{}, {"brandNew": 1}], ids=["known", "with a new field"])
def test_a_system_line_with_a_numeric_time_is_todays_unless_it_has_a_message(extra: dict[str, Any]) -> None:
    today = decode(type="system", subtype="informational", content="hello", timestamp=MS, **extra)
    old = decode(type="system", message={"content": "hello"}, timestamp=MS, **extra)

    assert isinstance(today.entry, system.Informational)
    assert today.dialect is Dialect.CLAUDE_CODE
    assert isinstance(old.entry, SystemNotice)
    assert old.dialect is Dialect.SPEC_004


def test_a_new_field_does_not_change_an_older_dialect() -> None:
    for name, raw in LEGACY.items():
        line = turnlog.decode(raw[:-1] + b',"brandNew":1}')

        assert line.dialect == name.partition(":")[0]
        assert [problem.kind for problem in line.problems] == [ProblemKind.UNKNOWN_FIELD]
        assert type(line.entry) is type(turnlog.decode(raw).entry)


def test_an_assistant_line_that_the_document_spec_shows_with_a_message_is_todays() -> None:
    call = {"type": "tool_use", "id": "call-1", "name": "Read", "input": {"file_path": "/tea.md"}}
    line = decode(type="assistant", uuid="a-1", parentUuid="a-0", message={"content": [call]})

    assert line.dialect is Dialect.CLAUDE_CODE
    assert isinstance(line.entry, AssistantEntry)
    assert isinstance(line.entry.message.content, tuple)
    assert isinstance(line.entry.message.content[0], ToolUseBlock)


def test_a_journal_and_a_session_may_end_with_a_result() -> None:
    journal = decode(type="result", key="k", agentId="a", result={"cups": 2})
    session = decode(type="result", subtype="success", is_error=False, session_id="s", total_cost_usd=0.1)

    assert isinstance(journal.entry, JournalResult)
    assert journal.problems == ()
    assert session.entry is not None


STREAM: list[dict[str, Any]] = [
    {"type": "user", "message": SAID, "parent_tool_use_id": None, "session_id": "s", "uuid": "u"},
    {
        "type": "assistant",
        "message": {"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": "hello"}]},
        "parent_tool_use_id": "toolu_1",
        "session_id": "s",
        "uuid": "u",
    },
    {"type": "system", "subtype": "init", "session_id": "s", "uuid": "u", "tools": ["Bash"], "cwd": "/tea"},
    {"type": "system", "subtype": "status", "status": "compacting", "session_id": "s", "uuid": "u"},
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": "s",
        "result": "done",
        "uuid": "u",
    },
    {
        "type": "stream_event",
        "event": {"type": "message_stop"},
        "parent_tool_use_id": None,
        "session_id": "s",
        "uuid": "u",
    },
    {"type": "tool_progress", "tool_use_id": "t", "parent_tool_use_id": None, "session_id": "s", "uuid": "u"},
    {"type": "control_request", "request_id": "r", "request": {"subtype": "interrupt"}},
    {"type": "control_response", "response": {"subtype": "success", "request_id": "r"}},
]


@pytest.mark.parametrize("members", STREAM, ids=lambda members: str(members["type"]))
def test_a_line_of_the_stream_does_not_raise_and_is_no_older_dialect(members: dict[str, Any]) -> None:
    line = decode(**members)

    assert not line.dialect.startswith("spec-")
    assert json.loads(turnlog.encode(line)) == members


def test_the_message_of_a_stream_line_is_read() -> None:
    line = decode(**STREAM[1])

    assert line.dialect is Dialect.STREAM
    assert isinstance(line.entry, AssistantMessage)
    assert line.entry.message.content == (TextBlock(text="hello"),)


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"{", b'"user"', b'{"type":"user"}{"type":"user"}'])
def test_what_is_no_object_is_of_no_dialect(raw: bytes) -> None:
    line = turnlog.decode(raw)

    assert line.dialect is Dialect.UNKNOWN
    assert line.entry == UnknownEntry(raw=raw)
    assert turnlog.encode(line) == raw


@pytest.mark.parametrize("raw", [b"{}", b'{"type":null}', b'{"type":5}', b'{"uuid":"u"}', b'{"type":"tea"}'])
def test_an_object_without_a_known_type_is_an_unknown_line_of_today(raw: bytes) -> None:
    line = turnlog.decode(raw)

    assert line.dialect is Dialect.CLAUDE_CODE
    assert isinstance(line.entry, UnknownEntry)
    assert [problem.kind for problem in line.problems] == [ProblemKind.UNKNOWN_TYPE]


def test_an_attachment_is_no_older_line() -> None:
    line = decode(type="attachment", attachment={"type": "date", "date": "2026-03-01"}, content="x")

    assert isinstance(line.entry, AttachmentEntry)
    assert isinstance(line.entry.attachment, DateAttachment)
