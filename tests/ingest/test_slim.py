"""Lines without their long texts: rows are the same, and what rows depend on stays whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import turnlog
from golden import DATA
from turnlog.ingest.looks import look
from turnlog.ingest.slim import slim
from turnlog.transcripts.files.locate import locate_path

LONG = "a text that goes on and on \u00e9\U0001f375\n" * 200
GOLDEN = [*(path for path in sorted((DATA / "transcripts").iterdir()) if path.is_dir()), DATA / "cli" / "tour"]


def line(**fields: Any) -> turnlog.Line:
    fields |= {"uuid": "1", "sessionId": "s", "timestamp": "2026-03-01T10:00:00Z"}
    data = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return turnlog.decode(data, at=turnlog.Position("s", 7))


def answer(name: str, **given: str) -> turnlog.Line:
    call = {"type": "tool_use", "id": "c", "name": name, "input": given}
    return line(type="assistant", message={"role": "assistant", "content": [call]})


def result(text: str) -> turnlog.Line:
    block = {"type": "tool_result", "tool_use_id": "c", "content": text}
    return line(type="user", message={"role": "user", "content": [block]}, toolUseResult={"stdout": text})


@pytest.mark.parametrize(
    "heavy",
    [
        result(LONG),
        answer("Write", file_path="/a", content=LONG),
        line(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": LONG}]}),
        line(type="attachment", attachment={"type": "file", "filename": "a", "content": LONG}),
    ],
    ids=["result", "input", "answer", "attachment"],
)
def test_long_texts_are_cut(heavy: turnlog.Line) -> None:
    light = slim(heavy)
    assert len(light.raw) < 2000 < len(heavy.raw)
    assert (type(light.entry), light.at, light.problems) == (type(heavy.entry), heavy.at, ())


@pytest.mark.parametrize(
    "whole",
    [
        line(type="user", message={"role": "user", "content": LONG}),
        line(type="user", message={"role": "user", "content": [{"type": "text", "text": LONG}]}),
        line(type="queue-operation", operation="enqueue", content=LONG),
        answer("Task", prompt=LONG, description=LONG),
        answer("Read", file_path=LONG),
        result(f"{LONG}agentId: a1\n{LONG}").replace(tool_use_result=turnlog.UNSET),
        result(f"{LONG}wf_abc{LONG}").replace(tool_use_result=turnlog.UNSET),
        result(" " * 2000 + "x").replace(tool_use_result=turnlog.UNSET),
        turnlog.decode(b"{" + LONG.encode()),
        line(type="user", message={"role": "user", "content": []}, unheard_of=LONG),
    ],
    ids=["prompt", "block", "queue", "agent", "path", "agent id", "run", "blank", "broken", "unknown"],
)
def test_what_rows_depend_on_stays_whole(whole: turnlog.Line) -> None:
    assert slim(whole).entry == whole.entry


@pytest.mark.parametrize("odd", ["1e999", "[" * 900 + "]" * 900], ids=["number", "nesting"])
def test_a_line_that_cannot_be_written_again_stays_as_it_is(odd: str) -> None:
    data = json.dumps({"type": "user", "sessionId": "s", "toolUseResult": ["odd", LONG]}).replace('"odd"', odd)
    heavy = turnlog.decode(data[:-1] + ',"message":{"role":"user","content":"x"}}')
    assert not heavy.problems
    assert slim(heavy) is heavy


def compare(folder: Path) -> None:
    for files in locate_path(folder).sessions:
        whole, light = (
            look(files, None, None, owner="local", origin="here", now_ns=1, large=size) for size in (1 << 60, 0)
        )
        assert light == whole


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
def test_rows_are_the_same(golden: Path) -> None:
    compare(golden)


def test_rows_of_real_sessions_are_the_same(corpus: Path) -> None:
    compare(corpus / "sessions")
