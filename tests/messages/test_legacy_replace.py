"""Changing lines of the older dialects: each keeps its own spelling, and says no to what it cannot say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import golden
import turnlog
from turnlog import UNSET, ChangeError
from turnlog.messages.base import Raw
from turnlog.messages.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, CompactionPhase, CompactionStatistics, UserEntry
from turnlog.messages.message import Message, Usage
from turnlog.messages.metadata import Summary
from turnlog.messages.system import Level

LINES = golden.all_legacy_lines()
Change = Callable[[Any], dict[str, Any]]


def message(**changes: Any) -> Change:
    """Return a change of some fields of the entry's message."""
    return lambda entry: {"message": msgspec.structs.replace(entry.message, **changes)}


def to(**changes: Any) -> Change:
    return lambda entry: changes


def renamed(index: int, **changes: Any) -> Change:
    """Return a change of one block of the entry's message."""

    def change(entry: Any) -> dict[str, Any]:
        blocks = list(entry.message.content)
        blocks[index] = msgspec.structs.replace(blocks[index], **changes)
        return message(content=tuple(blocks))(entry)

    return change


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_change_that_is_taken_back_leaves_no_trace(line: bytes) -> None:
    decoded = turnlog.decode(line)
    changed = decoded.replace(session_id="s-new")

    assert golden.envelope(changed).session_id == "s-new"
    assert changed.dialect is decoded.dialect
    assert changed.problems == ()
    assert changed.replace(session_id=golden.envelope(decoded).session_id).raw == line


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_unknown_fields_and_the_order_of_keys_outlive_a_change(line: bytes) -> None:
    strange = b'{"zebra":[1e5, {"a" : -0}],' + line[1:]
    decoded = turnlog.decode(strange)
    changed = decoded.replace(session_id="s-new")

    assert changed.replace(session_id=golden.envelope(decoded).session_id).raw == strange


@pytest.mark.parametrize(
    ("name", "change", "old", "new"),
    [
        ("spec-000:1", to(uuid="m-x"), b'"uuid":"m-01"', b'"uuid":"m-x"'),
        ("spec-000:1", to(parent_uuid="m-x"), b'"parentUuid":null', b'"parentUuid":"m-x"'),
        ("spec-000:1", message(content="A cup"), b'"Please draw me a teapot"', b'"A cup"'),
        ("spec-000:1", to(cwd="/tea"), b"}", b',"cwd":"/tea"}'),
        ("spec-000:2", to(is_sidechain=False), b'"isSidechain":true', b'"isSidechain":false'),
        ("spec-000:2", to(user_type=UNSET), b',"userType":"external"', b""),
        ("spec-000:3", message(content="A cup"), b"}", b',"message":"A cup"}'),
        ("spec-000:4", renamed(0, text="No."), b"I'll draw a teapot.", b"No."),
        ("spec-000:4", to(subtype="command"), b'"subtype":"response"', b'"subtype":"command"'),
        ("spec-000:5", renamed(0, name="Draw"), b'"toolName":"Write"', b'"toolName":"Draw"'),
        (
            "spec-000:5",
            renamed(0, input=Raw(b'{"size":2e1}')),
            b'{"file_path":"/tea/pot.txt","content":"c[_]\\n","size":1e1}',
            b'{"size":2e1}',
        ),
        ("spec-000:6", renamed(0, thinking="Left."), b"Spout left or right?", b"Left."),
        ("spec-000:9", renamed(0, text="Looking."), b"Looking for cracks.", b"Looking."),
        ("spec-000:11", renamed(0, content="Done"), b"Drawn: /tea/pot.txt", b"Done"),
        ("spec-000:12", renamed(0, is_error=False), b'"isError":true', b'"isError":false'),
        ("spec-000:13", to(content="Open"), b"Error: the shelf is locked", b"Open"),
        ("spec-000:13", to(is_error=False), b'"isError":true', b'"isError":false'),
        (
            "spec-000:16",
            to(phase=CompactionPhase.RESTORED),
            b"conversation_compacting",
            b"conversation_restored",
        ),
        (
            "spec-000:17",
            to(statistics=CompactionStatistics(preserved_messages=5, total_messages=40, compression_ratio=0.1)),
            b'"preservedMessages":4',
            b'"preservedMessages":5',
        ),
        ("spec-000:20", to(is_deleted=False), b'"isDeleted":true', b'"isDeleted":false'),
        ("spec-003-document:1", message(content="What?"), b"What does kettle.json hold?", b"What?"),
        ("spec-003-document:2", message(model="claude-x"), b'"model":"claude-opus-4-1"', b'"model":"claude-x"'),
        ("spec-003-document:5", to(cost_usd=0.5), b"0.0120", b"0.5"),
        ("spec-003-document:5", to(uuid="d-x"), b'"uuid":"d-05"', b'"uuid":"d-x"'),
        (
            "spec-003-document:5",
            lambda entry: {"usage": msgspec.structs.replace(entry.usage, output_tokens=4)},
            b'"outputTokens":3',
            b'"outputTokens":4',
        ),
        ("spec-003-document:6", renamed(0, text="See:"), b'"text":"Look:"', b'"text":"See:"'),
        ("spec-003-document:8", to(summary="Tea"), b"Setting a kettle", b"Tea"),
        ("spec-003-document:9", to(summary="Tea"), b"Kettle, again", b"Tea"),
        ("spec-003-extracted:2", renamed(0, content="{}"), b'"{\\"degrees\\": 80, \\"lid\\": true}"', b'"{}"'),
        ("spec-003-extracted:3", renamed(0, name="Sh"), b'\\"name\\":\\"Bash\\"', b'\\"name\\":\\"Sh\\"'),
        ("spec-003-extracted:3", renamed(0, input=Raw(b"{}")), b'{\\"command\\":\\"boil\\"}', b"{}"),
        ("spec-003-api:2", to(cost_usd=None), b"0.0120", b"null"),
        ("spec-003-api:2", to(is_sidechain=True), b'"isSidechain":false', b'"isSidechain":true'),
        ("spec-003-api:3", to(is_sidechain=False), b'"is_sidechain":true', b'"is_sidechain":false'),
        ("spec-003-api:5", to(cwd="/pot"), b'"cwd":"/tea"', b'"cwd":"/pot"'),
        (
            "spec-003-api:2",
            lambda entry: {"usage": msgspec.structs.replace(entry.usage, output_tokens=4)},
            b'"output_tokens":3',
            b'"output_tokens":4',
        ),
        ("spec-004:1", message(content="Sing"), b'"Write a poem about tea"', b'"Sing"'),
        ("spec-004:1", to(timestamp=5), b"1738573201234", b"5"),
        ("spec-004:2", renamed(1, input=Raw(b"{}")), b'{"file_path":"/poem.txt","content":"O tea\\n"}', b"{}"),
        ("spec-004:2", message(usage=Usage(input_tokens=7, output_tokens=8)), b'_tokens":9', b'_tokens":8'),
        ("spec-004:3", renamed(0, is_error=UNSET), b',"is_error":false', b""),
        ("spec-004:7", to(prelude=Message(type="message", content="Tea.")), b"We spoke of poems.", b"Tea."),
        (
            "spec-004:8",
            to(recap=Message(type="message", content="Tea.")),
            b"A poem about tea was written.",
            b"Tea.",
        ),
        ("spec-004:9", to(is_active=False), b'"is_active":true', b'"is_active":false'),
        ("spec-004:11", to(is_meta=True), b"}}", b'},"isMeta":true}'),
        ("spec-004:12", to(content="Gone"), b"Kettle connected", b"Gone"),
    ],
)
def test_a_change_touches_only_what_it_must(name: str, change: Change, old: bytes, new: bytes) -> None:
    line = turnlog.decode(LINES[name])
    head, found, tail = LINES[name].rpartition(old)
    changes = change(line.entry)
    changed = line.replace(**changes)

    assert found
    assert changed.raw == head + new + tail
    assert {field: getattr(changed.entry, field) for field in changes} == changes
    assert changed.dialect is line.dialect


def test_the_text_of_an_extracted_call_stays_one_string() -> None:
    line = turnlog.decode(LINES["spec-003-extracted:1"])
    changed = line.replace(**renamed(0, name="Look")(line.entry))

    assert isinstance(changed.entry, AssistantEntry)
    assert isinstance(changed.entry.message.content, tuple)
    [call] = changed.entry.message.content
    assert isinstance(call, ToolUseBlock)
    assert call.name == "Look"
    assert changed.problems == ()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("spec-000:1", message(role="user")),
        ("spec-000:1", message(content=(TextBlock(text="a cup"),))),
        ("spec-000:1", message(content=None)),
        ("spec-000:1", to(tool_use_result=Raw(b"{}"))),
        ("spec-000:4", message(content="a cup")),
        ("spec-000:4", message(content=(TextBlock(text="one"), TextBlock(text="two")))),
        ("spec-000:4", message(content=(ThinkingBlock(thinking="hm"),))),
        ("spec-000:4", message(model="claude-opus-4-1")),
        ("spec-000:4", to(request_id="req_1")),
        ("spec-000:5", renamed(0, id="toolu_1")),
        ("spec-000:11", renamed(0, tool_use_id="toolu_1")),
        ("spec-000:11", renamed(0, content=(TextBlock(text="done"),))),
        ("spec-000:11", message(content="done")),
        ("spec-000:13", to(level=Level.ERROR)),
        ("spec-000:13", to(content=None)),
        ("spec-000:16", to(recap=Message(content="done"))),
        ("spec-003-document:1", message(role="user")),
        ("spec-003-document:2", message(stop_reason="end_turn")),
        ("spec-003-document:5", to(usage=Usage(speed="fast"))),
        ("spec-003-document:5", to(request_id="req_1")),
        ("spec-003-extracted:1", message(content=(TextBlock(text="no call"),))),
        ("spec-003-extracted:2", message(content=(ToolResultBlock(content="ok", is_error=True),))),
        ("spec-003-api:2", to(slug="calm-pot")),
        ("spec-003-api:2", to(is_meta=True)),
        ("spec-004:1", to(tool_use_result=Raw(b"{}"))),
        ("spec-004:1", to(prompt_source="typed")),
        ("spec-004:2", to(effort="high")),
        ("spec-004:7", to(recap=Message(content="done"))),
        ("spec-004:7", to(phase=CompactionPhase.RESTORED)),
        ("spec-004:12", to(level=Level.INFO)),
    ],
)
def test_what_the_dialect_cannot_say_is_refused(name: str, change: Change) -> None:
    line = turnlog.decode(LINES[name])

    with pytest.raises(ChangeError):
        line.replace(**change(line.entry))


def test_a_field_that_the_entry_does_not_have_is_refused() -> None:
    with pytest.raises(ChangeError, match="`colour`"):
        turnlog.decode(LINES["spec-000:1"]).replace(colour="red")


def test_the_aliases_of_the_api_follow_what_they_repeat() -> None:
    changed = turnlog.decode(LINES["spec-003-api:5"]).replace(uuid="a-x", parent_uuid="a-y", session_id="s-z")
    repeated = LINES["spec-003-api:5"].replace(b'"a-05"', b'"a-x"').replace(b'"a-04"', b'"a-y"')

    assert changed.raw == repeated.replace(b'"s-003"', b'"s-z"')


API = b'{"type":"assistant","parent_uuid":null,"content":"x","cwd":"/a",'
SYSTEM = b'{"type":"system","timestamp":1738573200000,"cwd":"/a","message":{"type":"message",'


LOSABLE = {
    "all counters": API
    + b'"usage":{"output_tokens":1,"speed":"fast","cache_creation":{"ephemeral_1h_input_tokens":2}}}',
    "both spellings": API + b'"is_sidechain":true,"isSidechain":true}',
    "both spellings at odds": API + b'"is_sidechain":false,"isSidechain":true}',
    "a whole message": SYSTEM + b'"id":"msg_1","model":"claude-opus-4-1","content":"x"}}',
    "blocks": SYSTEM + b'"content":[{"type":"text","text":"x"}]}}',
    "two messages": b'{"type":"user","_id":"1","content":"x","messageData":{"content":"x"},"cwd":"/a"}',
    "a user's cost": b'{"type":"user","_id":"1","content":"x","costUsd":1e0,"usage":{},"cwd":"/a"}',
    "two titles": b'{"type":"summary","_id":"1","content":"x","summary":"y","model":null,"cwd":"/a"}',
    "no call": b'{"type":"tool_use","content":"not a call","cwd":"/a"}',
    "a new field of a call": b'{"type":"tool_use","content":"{\\"type\\": \\"tool_use\\", \\"name\\": \\"R\\", '
    b'\\"new\\": 1}","cwd":"/a"}',
    "a new subtype": b'{"type":"assistant","subtype":"song","message":"la","toolName":"Sing","cwd":"/a"}',
    "a new note": b'{"type":"system","subtype":"song","message":"la","cwd":"/a"}',
    "a new operation": b'{"type":"compact_system","message":"folded","metadata":{"new":1e5},"cwd":"/a"}',
}


@pytest.mark.parametrize("raw", LOSABLE.values(), ids=LOSABLE)
def test_changing_one_thing_loses_nothing_else(raw: bytes) -> None:
    assert turnlog.decode(raw).replace(cwd="/b").raw == raw.replace(b"/a", b"/b")


def test_a_system_line_of_blocks_keeps_its_words_in_the_entry() -> None:
    line = turnlog.decode(SYSTEM + b'"content":[{"type":"text","text":"Kettle connected"}]}}')

    assert getattr(line.entry, "content", None) == "Kettle connected"


def test_an_unknown_line_of_an_older_dialect_can_change_its_envelope() -> None:
    raw = b'{"type":"song","_id":"1","content":"la","uuid":"u-1"}'

    assert turnlog.decode(raw).replace(uuid="u-2").raw == raw.replace(b"u-1", b"u-2")


def test_a_changed_line_is_what_it_was() -> None:
    human = turnlog.decode(LINES["spec-004:1"]).replace(cwd="/tea")
    title = turnlog.decode(LINES["spec-003-document:8"]).replace(cwd="/tea")

    assert isinstance(human.entry, UserEntry)
    assert b'"type":"human"' in human.raw
    assert b'"timestamp":1738573201234' in human.raw
    assert isinstance(title.entry, Summary)


def test_the_statistics_of_a_compaction_can_be_changed() -> None:
    line = turnlog.decode(
        b'{"type":"compact_recap","timestamp":1738573208638,"compactMetadata":{"kept":3},'
        b'"message":{"type":"message","content":"Tea."}}'
    )
    changed = line.replace(statistics=CompactionStatistics(total_messages=9))
    assert changed.raw == line.raw.replace(b'{"kept":3}', b'{"totalMessages":9}')
    assert b"compactMetadata" not in changed.replace(statistics=UNSET).raw
