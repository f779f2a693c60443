"""What people read is a sentence: messages about data, counts, amounts of money, and names in exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import turnlog
from command_line import invoke

LINE = b'{"type":"mode","mode":"normal"}'
BROKEN = {
    b"{mode:1}": 'Expected `"`, found `m` - at $ (byte 1)',
    b'{"a" 1}': "Expected `:`, found `1` - at $ (byte 5)",
    b'{"a":1 "b":2}': 'Expected `,` or `}`, found `"` - at $ (byte 7)',
    b'{"a":[1 2]}': "Expected `,` or `]`, found `2` - at $ (byte 8)",
    b'{"a":1 \x00}': "Expected `,` or `}`, found byte 0x00 - at $ (byte 7)",
    '{"a":1 é}'.encode(): "Expected `,` or `}`, found `é` - at $ (byte 7)",
    LINE + b"x": f"Expected the end of the line, found `x` - at $ (byte {len(LINE)})",
    b"nope": "Expected a JSON object, found an invalid character - at $ (byte 1)",
    b'{"a":1,}': "Expected a JSON object, found a trailing comma in an object - at $ (byte 7)",
    b'{"type":5}': "Expected a known `type`, found `5` - at $.type (byte 8)",
    b'{"type":{}}': "Expected a known `type`, found an object - at $.type (byte 8)",
    b'{"type":""}': "Expected a known `type`, found an empty string - at $.type (byte 8)",
    b'{"type":null}': "Expected a known `type`, found null - at $.type (byte 8)",
}


@pytest.mark.parametrize("line", BROKEN, ids=repr)
def test_a_problem_says_what_was_expected_and_what_was_found(line: bytes) -> None:
    [problem] = turnlog.decode(line).problems
    assert str(problem) == BROKEN[line]


@pytest.mark.parametrize(("flags", "found"), [({}, "nothing"), ({"isMeta": False}, "`false`")])
def test_a_flag_that_is_there_and_false_is_found(tmp_path: Path, flags: dict[str, bool], found: str) -> None:
    line = {"type": "system", "uuid": "m1", "timestamp": "2025-01-27T10:00:00Z", "sessionId": "s1"}
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(line | {"subtype": "meta", "message": "m"} | flags) + "\n")
    assert f"Expected `isMeta: true` of subtype `meta`, found {found}" in invoke("validate", str(path)).output


def test_a_line_without_a_type_is_called_an_unknown_line(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(LINE[:-1] + b"\n" + b'{"type":"user","message":{"role":"user","content":"Hello"}}\n')
    shown = invoke("show", str(path)).output
    assert '? unknown line\n  {"type":"mode"' in shown
    assert "a broken line" not in shown
