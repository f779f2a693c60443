"""Decoding and encoding through the public API: what is unknown or broken stays visible."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from msgspec import Raw

import turnlog
from turnlog import UNSET, Dialect, ProblemKind
from turnlog.messages.base import UnknownBlock, UnknownField, Value
from turnlog.messages.blocks import TextBlock
from turnlog.messages.entries import AssistantEntry, UnknownEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.message import Message
from turnlog.messages.metadata import QueueAction, QueueOperation

PROMPT = b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"hi"},"uuid":"u1","cwd":"/p"}'


def envelope(raw: bytes) -> Envelope:
    entry = turnlog.decode(raw).entry
    assert isinstance(entry, Envelope)
    return entry


def only_problem(raw: bytes) -> turnlog.Problem:
    (problem,) = turnlog.decode(raw).problems
    return problem


def test_a_known_line_is_typed_and_has_no_problems() -> None:
    line = turnlog.decode(PROMPT)
    assert isinstance(line.entry, UserEntry)
    assert line.entry.message.content == "hi"
    assert (line.dialect, line.problems, line.at) == (Dialect.CLAUDE_CODE, (), None)
    assert turnlog.encode(line) == PROMPT


def test_a_position_is_kept() -> None:
    at = turnlog.Position("a.jsonl", 42)
    assert turnlog.decode(PROMPT, at=at).at == at
    assert turnlog.decode(b"broken", at=at).at == at


def test_absent_null_and_false_stay_apart() -> None:
    texts = [b'{"type":"mode","mode":"m"%s}' % part for part in (b"", b',"isMeta":null', b',"isMeta":false')]
    entries = [envelope(text) for text in texts]
    assert [entry.is_meta for entry in entries] == [UNSET, None, False]
    assert [json.loads(turnlog.encode(entry)) for entry in entries] == [json.loads(text) for text in texts]


def test_an_unknown_field_is_named_with_its_bytes_and_place() -> None:
    raw = PROMPT[:-1] + b',"novel":{"a":1.50}}'
    line = turnlog.decode(raw)
    (problem,) = line.problems
    assert isinstance(line.entry, UserEntry)
    assert (problem.kind, problem.path) == (ProblemKind.UNKNOWN_FIELD, "$.novel")
    assert problem.unknown == UnknownField(b'{"a":1.50}', "novel")
    assert problem.offset == raw.index(b'{"a"')


def test_an_unknown_block_leaves_its_neighbours_typed() -> None:
    raw = b'{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"hologram","x":1}]}}'
    line = turnlog.decode(raw)
    assert isinstance(line.entry, AssistantEntry)
    assert line.entry.message.content == (
        TextBlock(text="a"),
        UnknownBlock(b'{"type":"hologram","x":1}', "hologram"),
    )
    problem = only_problem(raw)
    assert (problem.kind, problem.path) == (ProblemKind.UNKNOWN_TYPE, "$.message.content[1]")
    assert turnlog.encode(line.entry) != b""


def test_an_unknown_block_is_encoded_as_it_came() -> None:
    raw = b'{"type":"assistant","message":{"content":[{"type":"hologram","x":1.50}]}}'
    assert turnlog.encode(turnlog.decode(raw).entry) == raw


def test_a_known_block_that_lacks_what_it_needs_is_unknown_too() -> None:
    raw = b'{"type":"assistant","message":{"content":[{"type":"text"},{"type":"text","text":"b"}]}}'
    line = turnlog.decode(raw)
    assert isinstance(line.entry, AssistantEntry)
    assert line.entry.message.content == (UnknownBlock(b'{"type":"text"}', "text"), TextBlock(text="b"))
    assert only_problem(raw).kind is ProblemKind.MISSING_FIELD


def test_an_unknown_enum_value_is_a_member_that_says_so() -> None:
    line = turnlog.decode(b'{"type":"queue-operation","operation":"shuffle","sessionId":"s"}')
    assert isinstance(line.entry, QueueOperation)
    assert (line.entry.operation, line.entry.operation.known) == ("shuffle", False)
    assert isinstance(line.entry.operation, QueueAction)
    assert QueueAction.ENQUEUE.known
    assert line.problems[0].kind is ProblemKind.UNKNOWN_VALUE


def test_an_unknown_type_keeps_its_envelope_and_bytes() -> None:
    raw = b'{"type":"telepathy","uuid":"u","timestamp":"2026-01-01T00:00:00Z","thought":[1]}'
    line = turnlog.decode(raw)
    assert isinstance(line.entry, UnknownEntry)
    assert (line.entry.type, line.entry.uuid, line.entry.raw) == ("telepathy", "u", raw)
    assert line.entry.time is not None
    problem = only_problem(raw)
    assert (problem.kind, problem.path, problem.found) == (ProblemKind.UNKNOWN_TYPE, "$.type", "`telepathy`")


def test_an_unknown_subtype_is_an_unknown_entry() -> None:
    raw = b'{"type":"system","subtype":"omen","uuid":"u","content":"c"}'
    line = turnlog.decode(raw)
    assert isinstance(line.entry, UnknownEntry)
    assert (line.entry.type, line.entry.subtype) == ("system", "omen")
    assert line.problems[0].path == "$.subtype"


@pytest.mark.parametrize(
    ("raw", "path", "found"),
    [
        (PROMPT.replace(b'"/p"', b"7"), "$.cwd", "`7`"),
        (PROMPT.replace(b'"/p"', b"[]"), "$.cwd", "an array"),
        (PROMPT.replace(b'"/p"', b"{}"), "$.cwd", "an object"),
        (PROMPT.replace(b'"/p"', b"true"), "$.cwd", "true"),
        (PROMPT.replace(b'"/p"', b"9" * 99), "$.cwd", "`" + "9" * 60 + "…`"),
        (PROMPT[:-1] + b',"isMeta":"yes"}', "$.isMeta", "a string"),
        (PROMPT[:-1] + b',"todos":{}}', "$.todos", "an object"),
        (PROMPT[:-1] + b',"todos":[1]}', "$.todos[0]", "`1`"),
        (PROMPT[:-1] + b',"timestamp":{}}', "$.timestamp", "an object"),
    ],
)
def test_a_wrong_type_reads_as_absent_and_is_named(raw: bytes, path: str, found: str) -> None:
    line = turnlog.decode(raw)
    (problem,) = line.problems
    assert isinstance(line.entry, UserEntry)
    assert (problem.kind, problem.path, problem.found) == (ProblemKind.WRONG_TYPE, path, found)
    assert line.entry.message.content == "hi"


@pytest.mark.parametrize(
    ("raw", "found", "offset"),
    [
        (b"", "nothing", 0),
        (b"   ", "nothing", 3),
        (b"// note", "an invalid character", 0),
        (b"[1]", "an array", 0),
        (b'"user"', "a string", 0),
        (b"12", "`12`", 0),
        (b"null", "null", 0),
        (PROMPT[:40], "the end of the line before the end of the object", 40),
        (PROMPT[:-1] + b",}", "a trailing comma in an object", len(PROMPT)),
        (b'{"type":"user\x00"}', "an invalid character", 13),
    ],
)
def test_a_broken_line_is_a_problem_that_says_why_and_where(raw: bytes, found: str, offset: int) -> None:
    line = turnlog.decode(raw)
    (problem,) = line.problems
    assert isinstance(line.entry, UnknownEntry)
    assert line.entry == UnknownEntry(raw=raw)
    assert (line.dialect, problem.kind) == (Dialect.UNKNOWN, ProblemKind.MALFORMED)
    assert (problem.expected, problem.found, problem.offset) == ("a JSON object", found, offset)
    with pytest.raises(turnlog.MalformedError):
        turnlog.decode(raw, strict=True)


def test_two_objects_on_a_line_are_one_problem() -> None:
    problem = only_problem(PROMPT + PROMPT)
    assert (problem.kind, problem.found) == (ProblemKind.GLUED, "2 objects on one line")
    assert problem.offset == len(PROMPT)


def test_lone_surrogates_are_shown_as_replacement_characters() -> None:
    raw = PROMPT.replace(b'"hi"', rb'"a\ud83d \ud83d\ude00 \\ud83d \udc00"')
    line = turnlog.decode(raw)
    assert isinstance(line.entry, UserEntry)
    assert line.entry.message.content == "a\ufffd \N{GRINNING FACE} \\ud83d \ufffd"
    assert [problem.kind for problem in line.problems] == [ProblemKind.BAD_TEXT] * 2
    assert [problem.offset for problem in line.problems] == [raw.index(rb"\ud83d"), raw.index(rb"\udc00")]
    assert turnlog.encode(line) == raw


def test_bytes_that_are_not_utf8_are_shown_as_replacement_characters() -> None:
    raw = PROMPT.replace(b'"hi"', b'"a\xff\xe4b"')
    line = turnlog.decode(raw)
    assert isinstance(line.entry, UserEntry)
    assert line.entry.message.content == "a\ufffd\ufffdb"
    assert line.problems[0].offset == raw.index(b"\xff")
    assert turnlog.encode(line) == raw


def test_a_byte_order_mark_is_passed_over() -> None:
    line = turnlog.decode(b"\xef\xbb\xbf" + PROMPT)
    assert isinstance(line.entry, UserEntry)
    assert [problem.kind for problem in line.problems] == [ProblemKind.BAD_TEXT]


@pytest.mark.parametrize("depth", [2_000, 200_000])
def test_deep_nesting_costs_only_the_value_that_is_deep(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    raw = PROMPT[:-1] + b',"toolUseResult":' + deep + b"}"
    line = turnlog.decode(raw)
    assert isinstance(line.entry, UserEntry)
    assert line.entry.message.content == "hi"
    assert line.entry.tool_use_result == Raw(deep)
    assert turnlog.encode(line) == raw


def test_deep_nesting_in_a_typed_place_is_a_problem() -> None:
    raw = PROMPT.replace(b'"/p"', b"[" * 5000 + b"]" * 5000)
    assert only_problem(raw).path == "$.cwd"


def test_of_repeated_keys_the_last_counts() -> None:
    raw = PROMPT[:-1] + b',"cwd":"/q"}'
    assert envelope(raw).cwd == "/q"


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5000, "0.1e-999999"])
def test_huge_numbers_are_no_reason_to_fail(number: str) -> None:
    raw = f'{{"type":"system","subtype":"turn_duration","durationMs":{number}}}'.encode()
    assert turnlog.encode(turnlog.decode(raw)) == raw


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b'{"type":"telepathy"}', turnlog.UnknownTypeError),
        (b'{"uuid":"u"}', turnlog.UnknownTypeError),
        (b'{"type":"system","subtype":"omen"}', turnlog.UnknownTypeError),
        (b'{"type":"assistant","message":{"content":[{"type":"hologram"}]}}', turnlog.UnknownTypeError),
        (b'{"type":"attachment","attachment":{"type":"hologram"}}', turnlog.UnknownTypeError),
        (b'{"type":"progress","data":{"type":"hologram"}}', turnlog.UnknownTypeError),
        (b'{"type":"mode","mode":7}', turnlog.DecodeError),
        (b'{"type":"mode"}', turnlog.DecodeError),
        (b"{", turnlog.MalformedError),
        (PROMPT + PROMPT, turnlog.MalformedError),
    ],
)
def test_strict_raises_for_what_is_broken_or_of_unknown_type(raw: bytes, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        turnlog.decode(raw, strict=True)
    assert isinstance(caught.value, turnlog.DecodeError)
    assert caught.value.path in str(caught.value)
    turnlog.decode(raw)


def test_strict_lets_new_fields_and_enum_values_pass() -> None:
    raw = b'{"type":"queue-operation","operation":"shuffle","novel":1}'
    assert turnlog.decode(raw, strict=True) == turnlog.decode(raw)


def test_an_error_says_what_was_expected_what_was_found_and_where() -> None:
    with pytest.raises(turnlog.UnknownTypeError) as caught:
        turnlog.decode(b'{"type":"telepathy"}', strict=True)
    assert str(caught.value) == "Expected a known `type`, found `telepathy` - at $.type (byte 8)"


def test_a_wrong_guess_at_the_type_is_harmless() -> None:
    nested = b'{"type":"progress","data":{"type":"query_update","query":"q"},"slug":"%s"}'
    raw = nested % rb"\"type\":\"assistant\""
    assert not turnlog.decode(raw).problems
    raw = b'{"type":"user","message":{"content":"hi"},"toolUseResult":{"type":"assistant"}}'
    assert isinstance(turnlog.decode(raw).entry, UserEntry)


def test_envelopes_are_read_alone() -> None:
    head = turnlog.decode_envelope(PROMPT)
    assert (head.type, head.uuid, head.parent_uuid, head.cwd) == ("user", "u1", None, "/p")
    assert turnlog.decode_envelope(PROMPT.replace(b'"/p"', b"7")).uuid == "u1"
    assert turnlog.decode_envelope("{") == turnlog.decode_envelope(b"")


def test_newly_made_values_are_encoded_as_claude_code_spells_them() -> None:
    entry = UserEntry(message=Message(role="user", content="hi"), session_id="s")
    assert json.loads(turnlog.encode(entry)) == {
        "type": "user",
        "sessionId": "s",
        "message": {"role": "user", "content": "hi"},
    }


def test_what_is_no_text_cannot_be_encoded() -> None:
    with pytest.raises(turnlog.ChangeError):
        turnlog.encode(TextBlock(text="\ud800"))


def test_any_buffer_of_bytes_is_taken() -> None:
    assert turnlog.decode(memoryview(PROMPT)) == turnlog.decode(bytearray(PROMPT)) == turnlog.decode(PROMPT)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["attachments", "entries", "envelope", "message", "metadata"])
def test_the_first_line_need_not_wait_for_annotations_to_be_evaluated(name: str) -> None:
    module = import_module(f"turnlog.messages.{name}")
    kinds = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Value)]
    own = [each for each in kinds if each.__module__ == module.__name__]
    assert own
    assert [each for each in own if any(isinstance(told, str) for told in each.__annotations__.values())] == []
