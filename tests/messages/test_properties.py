"""What holds for every line, whatever it says."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import turnlog
from strategies import damaged, json_lines, json_values, lines
from turnlog import UNSET, Dialect, Line
from turnlog.messages.spans import find_span, list_members

ANYTHING = st.one_of(lines, damaged(), json_lines(), json_lines(json_values), st.binary(max_size=64))


@given(ANYTHING)
@example(b"")
@example(b"\xff")
@example(b'{"type":"user","message":{"content":"\\ud800"}}')
@example(b'{"type":"user","message":' + b"[" * 5000 + b"]" * 5000 + b"}")
@example(b'{"type":"user","uuid":' + b"9" * 5000 + b"}")
@example(b'{"type":"user","uuid":1e999}')
@example(b'{"type":"user"}{"type":"user"}')
@example(b'{"a":1,"a":2,"type":"user","type":"user"}')
def test_no_line_raises_and_every_line_comes_back(raw: bytes) -> None:
    line = turnlog.decode(raw)
    assert turnlog.encode(line) == raw
    assert [str(problem) for problem in line.problems] or line.dialect is not Dialect.UNKNOWN


@given(st.text(max_size=64))
@example("\ud800")
def test_text_is_taken_as_well_as_bytes(text: str) -> None:
    assert turnlog.encode(turnlog.decode(text)) == text.encode("utf-8", "surrogatepass")


@given(ANYTHING)
def test_strict_raises_only_decode_errors_that_say_what_and_where(raw: bytes) -> None:
    outcome = strictly(raw)
    if isinstance(outcome, Line):
        assert outcome == turnlog.decode(raw)
    else:
        assert outcome.expected
        assert outcome.found
        assert outcome.path.startswith("$")
        assert "Expected" in str(outcome)


def strictly(raw: bytes) -> Line | turnlog.DecodeError:
    try:
        return turnlog.decode(raw, strict=True)
    except turnlog.DecodeError as error:
        return error


@given(st.one_of(lines, json_lines()))
def test_a_line_without_problems_is_typed_whole(raw: bytes) -> None:
    line = turnlog.decode(raw)
    if line.problems or line.wire is not None:
        return
    assert json.loads(turnlog.encode(line.entry)) == json.loads(raw)


@given(st.one_of(lines, json_lines()))
def test_unknown_things_keep_their_bytes_and_say_where_they_are(raw: bytes) -> None:
    for problem in turnlog.decode(raw).problems:
        if problem.unknown is not None:
            assert problem.offset is not None
            assert raw[problem.offset :].startswith(problem.unknown.raw.strip())


@given(st.one_of(lines, json_lines()))
def test_replacing_a_field_by_itself_changes_nothing(raw: bytes) -> None:
    line = turnlog.decode(raw)
    fields = {name: getattr(line.entry, name) for name in line.entry.__struct_fields__}
    for name in ("raw", "type", "subtype"):
        if isinstance(line.entry, turnlog.UnknownEntry):
            fields.pop(name)
    assert line.replace(**fields).raw == raw


CHANGES: dict[str, Any] = {
    "cwd": "/somewhere/else",
    "uuid": 'a"b\\c\n\u2028é',
    "session_id": UNSET,
    "is_sidechain": None,
    "parent_uuid": UNSET,
    "timestamp": "2026-11-15T00:00:00Z",
    "is_meta": False,
}


@given(st.one_of(lines, json_lines()), st.sets(st.sampled_from(sorted(CHANGES)), min_size=1))
def test_a_change_touches_nothing_else(raw: bytes, names: set[str]) -> None:
    line = turnlog.decode(raw)
    if line.dialect is not Dialect.CLAUDE_CODE:
        return
    changed = line.replace(**{name: CHANGES[name] for name in names})
    wires = {
        wire: name
        for wire, name in zip(_wires(line), line.entry.__struct_fields__, strict=True)
        if name in names
    }
    for member in list_members(raw):
        if member.key not in wires:
            span = find_span(changed.raw, (member.key,))
            last = find_span(raw, (member.key,))
            assert span is not None
            assert last is not None
            assert changed.raw[slice(*span)] == raw[slice(*last)]
    if line.entry is not None and not isinstance(line.entry, turnlog.UnknownEntry):
        expected = msgspec.structs.replace(line.entry, **{name: CHANGES[name] for name in names})
        assert changed.entry == expected
    kept = [member.key for member in list_members(raw) if member.key not in wires]
    assert [member.key for member in list_members(changed.raw) if member.key not in wires] == kept


def _wires(line: Line) -> tuple[str, ...]:
    return line.entry.__struct_encode_fields__


@pytest.mark.parametrize("value", [5, None, ["{}"], {"type": "user"}])
def test_what_is_no_line_is_misuse(value: Any) -> None:
    with pytest.raises(TypeError, match="decode takes bytes or str"):
        turnlog.decode(value)
