"""Changing a line: what was not changed keeps its bytes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

import golden
import turnlog
from turnlog import UNSET, ChangeError
from turnlog.messages.base import UnknownBlock
from turnlog.messages.blocks import TextBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.message import Message
from turnlog.messages.metadata import CostState

LINE = (
    b'{ "uuid":"u1", "new":{"z":1e5,"a":[ 1.0 ,-0]},"type" : "assistant","message":{"x-new":0.10,"model":"m",'
    b'"content":[{"type":"text","text":"caf\\u00e9 \\/"},{"type":"hologram","q":1E2},'
    b'{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"},"extra":null}],'
    b'"usage":{"output_tokens":5,"input_tokens":1,"mystery":[]}},"cwd":"/p" }'
)


def entry_of(line: turnlog.Line) -> AssistantEntry:
    assert isinstance(line.entry, AssistantEntry)
    return line.entry


def with_message(**changes: Any) -> bytes:
    line = turnlog.decode(LINE)
    return line.replace(message=msgspec.structs.replace(entry_of(line).message, **changes)).raw


def test_a_changed_field_is_the_only_thing_that_changes() -> None:
    line = turnlog.decode(LINE)
    changed = line.replace(cwd="/q")
    assert changed.raw == LINE.replace(b'"cwd":"/p"', b'"cwd":"/q"')
    assert golden.envelope(changed).cwd == "/q"
    assert line.raw == LINE
    assert turnlog.encode(changed) == changed.raw


def test_several_fields_change_at_once() -> None:
    changed = turnlog.decode(LINE).replace(cwd="/q", uuid="u2")
    assert changed.raw == LINE.replace(b'"/p"', b'"/q"').replace(b'"u1"', b'"u2"')


def test_a_field_deep_inside_changes_alone() -> None:
    assert with_message(model="n") == LINE.replace(b'"model":"m"', b'"model":"n"')


def test_a_counter_changes_beside_unknown_ones() -> None:
    usage = entry_of(turnlog.decode(LINE)).message.usage
    assert isinstance(usage, msgspec.Struct)
    raw = with_message(usage=msgspec.structs.replace(usage, output_tokens=6))
    assert raw == LINE.replace(b'"output_tokens":5', b'"output_tokens":6')


def test_one_block_of_several_changes_alone() -> None:
    content = entry_of(turnlog.decode(LINE)).message.content
    assert isinstance(content, tuple)
    call = content[2]
    assert isinstance(call, ToolUseBlock)
    changed = msgspec.structs.replace(call, input=Raw(b'{"command":"pwd"}'))
    assert with_message(content=(*content[:2], changed)) == LINE.replace(b'"ls"', b'"pwd"')


def test_blocks_that_stay_keep_their_bytes_when_others_come_and_go() -> None:
    content = entry_of(turnlog.decode(LINE)).message.content
    assert isinstance(content, tuple)
    raw = with_message(content=(TextBlock(text="new"), content[1]))
    assert b'"content":[{"type":"text","text":"new"},{"type":"hologram","q":1E2}]' in raw
    assert b"tool_use" not in raw


def test_content_may_become_text() -> None:
    assert b'"content":"plain","usage"' in with_message(content="plain")


def test_an_unknown_block_can_be_put_in() -> None:
    raw = with_message(content=(UnknownBlock(b'{"type":"aura","v":1.50}', "aura"),))
    assert b'"content":[{"type":"aura","v":1.50}]' in raw


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("uuid", LINE.replace(b'"uuid":"u1", ', b"")),
        ("cwd", LINE.replace(b',"cwd":"/p"', b"")),
    ],
)
def test_unset_takes_a_field_away(name: str, raw: bytes) -> None:
    changed = turnlog.decode(LINE).replace(**{name: UNSET})
    assert getattr(changed.entry, name) is UNSET
    assert turnlog.decode(changed.raw) == changed
    assert msgspec.json.decode(changed.raw) == msgspec.json.decode(raw)


def test_a_new_field_is_written_at_the_end() -> None:
    changed = turnlog.decode(LINE).replace(git_branch="main")
    assert changed.raw == LINE.replace(b'"cwd":"/p" }', b'"cwd":"/p", "gitBranch":"main" }')


def test_fields_come_and_go_in_a_line_of_one() -> None:
    line = turnlog.decode(b'{"type":"turn_end"}')
    assert line.replace(uuid="u").raw == b'{"type":"turn_end","uuid":"u"}'


def test_null_false_and_absent_are_different_changes() -> None:
    line = turnlog.decode(LINE)
    assert b'"isMeta":null' in line.replace(is_meta=None).raw
    assert b'"isMeta":false' in line.replace(is_meta=False).raw
    assert line.replace(is_meta=UNSET).raw == LINE


def test_equal_numbers_of_another_form_are_a_change() -> None:
    line = turnlog.decode(b'{"type":"cost-state","totalCostUSD":1.0,"totalLinesAdded":1}')
    assert line.replace(total_cost_usd=1.0).raw == line.raw
    assert line.replace(total_cost_usd=1).raw == line.raw.replace(b"1.0", b"1")


def test_members_of_maps_change_alone() -> None:
    raw = b'{"type":"cost-state","modelUsage":{"a":{"inputTokens":1,"new":1e3},"b":{"costUSD":0.50}}}'
    line = turnlog.decode(raw)
    assert isinstance(line.entry, CostState)
    usage = line.entry.model_usage
    assert isinstance(usage, dict)
    fewer = line.replace(model_usage={"b": usage["b"]})
    assert fewer.raw == b'{"type":"cost-state","modelUsage":{"b":{"costUSD":0.50}}}'
    other = line.replace(model_usage={**usage, "a": msgspec.structs.replace(usage["a"], input_tokens=2)})
    assert other.raw == raw.replace(b'"inputTokens":1', b'"inputTokens":2')


def test_of_repeated_keys_the_last_is_changed() -> None:
    line = turnlog.decode(b'{"type":"mode","mode":"a","cwd":"/1","cwd":"/2"}')
    assert line.replace(cwd="/3").raw == b'{"type":"mode","mode":"a","cwd":"/1","cwd":"/3"}'


def test_all_repeats_of_a_key_are_taken_away() -> None:
    line = turnlog.decode(b'{"type":"mode","mode":"a","cwd":"/1","cwd":"/2"}')
    assert line.replace(cwd=UNSET).raw == b'{"type":"mode","mode":"a"}'


def test_a_field_of_the_wrong_type_can_be_put_right() -> None:
    line = turnlog.decode(b'{"type":"mode","mode":"a","cwd":[1]}')
    assert line.replace(cwd="/p").raw == b'{"type":"mode","mode":"a","cwd":"/p"}'
    assert not line.replace(cwd="/p").problems


def test_an_unknown_entry_can_be_moved_to_another_session() -> None:
    line = turnlog.decode(b'{"type":"telepathy","sessionId":"s1","thought":1e5}')
    assert line.replace(session_id="s2").raw == b'{"type":"telepathy","sessionId":"s2","thought":1e5}'


def test_lines_with_bad_text_can_be_changed() -> None:
    raw = b'{"type":"mode","mode":"a\\ud800","cwd":"\xff"}'
    assert turnlog.decode(raw).replace(uuid="u").raw == raw[:-1] + b',"uuid":"u"}'


def test_a_byte_order_mark_stays_where_it_is() -> None:
    raw = b'\xef\xbb\xbf{"type":"mode","mode":"a","cwd":"/p","new":1}'
    changed = turnlog.decode(raw).replace(cwd="/q")
    assert changed.raw == raw.replace(b"/p", b"/q")
    assert [problem.offset for problem in changed.problems] == [0, raw.index(b"1}")]


def test_enums_take_known_and_unknown_members() -> None:
    line = turnlog.decode(b'{"type":"permission-mode","permissionMode":"plan"}')
    assert line.replace(permission_mode=PermissionMode.AUTO).raw.endswith(b'"auto"}')
    assert line.replace(permission_mode=PermissionMode.of("trance")).raw.endswith(b'"trance"}')


def test_the_copy_stands_nowhere_yet() -> None:
    line = turnlog.decode(LINE, at=turnlog.Position("a.jsonl", 7))
    assert line.replace(cwd="/q").at is None


@pytest.mark.parametrize("changes", [{"cwdd": "/q"}, {"type": "user"}, {"raw": b""}])
def test_a_field_that_is_not_there_cannot_be_changed(changes: dict[str, Any]) -> None:
    with pytest.raises(ChangeError, match="has no field"):
        turnlog.decode(LINE).replace(**changes)


@pytest.mark.parametrize("value", [object(), "\ud800", {1, 2}.__iter__()])
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(ChangeError, match="cannot be written"):
        turnlog.decode(LINE).replace(cwd=value)


def test_a_value_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(ChangeError, match="cwd"):
        turnlog.decode(LINE).replace(cwd=5)


def test_a_broken_line_cannot_be_changed() -> None:
    with pytest.raises(ChangeError, match="broken"):
        turnlog.decode(b"{").replace(cwd="/q")


def test_a_result_keeps_its_bytes_until_it_is_changed() -> None:
    raw = b'{"type":"user","message":{"content":"x"},"toolUseResult":{ "b" : 1.50 }}'
    line = turnlog.decode(raw)
    assert line.replace(tool_use_result=Raw(b'{ "b" : 1.50 }')).raw == raw
    assert line.replace(message=Message(content="y")).raw == raw.replace(b'"x"', b'"y"')
    assert isinstance(line.entry, UserEntry)
