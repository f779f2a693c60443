"""Sidecars as they lie on disk, whole or not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from turnlog.messages import ProblemKind, Unknown
from turnlog.messages.sidecars import AgentMeta, WorkflowRecord
from turnlog.transcripts.line_reader import META_LIMIT, read_agent_meta, read_workflow_record


def test_metadata_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent-a1.meta.json"
    path.write_text('{\n  "agentType": "Explore",\n  "toolUseId": "c-1"\n}\n')
    seen = read_agent_meta(path)

    assert (seen.value, seen.problems) == (AgentMeta(agent_type="Explore", tool_use_id="c-1"), ())
    assert seen.raw == path.read_bytes()


def test_a_record_is_read(tmp_path: Path) -> None:
    path = tmp_path / "wf_1.json"
    path.write_text('{"runId":"wf_1","status":"completed"}')

    assert read_workflow_record(path).value == WorkflowRecord(run_id="wf_1", status="completed")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "nothing"),
        (b'{"agentType":"Expl', "the end of the line before the end of the object"),
        (b"[1]", "an array"),
        (b'{"agentType":}', "an invalid character"),
        (b"\x00\x00", "an invalid character"),
    ],
)
def test_what_is_broken_is_a_problem(data: bytes, found: str, tmp_path: Path) -> None:
    path = tmp_path / "agent-a1.meta.json"
    path.write_bytes(data)
    seen = read_agent_meta(path)

    assert seen.value == Unknown(data)
    assert [(problem.kind, problem.found) for problem in seen.problems] == [(ProblemKind.MALFORMED, found)]


def test_text_that_is_not_utf_8_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "agent-a1.meta.json"
    path.write_bytes(b'{"agentType":"Expl\xff"}')
    seen = read_agent_meta(path)

    assert seen.value == AgentMeta(agent_type="Expl\ufffd")
    assert [problem.kind for problem in seen.problems] == [ProblemKind.BAD_TEXT]


def test_no_more_is_read_than_metadata_may_have(tmp_path: Path) -> None:
    path = tmp_path / "agent-a1.meta.json"
    path.write_bytes(b'{"description":"' + b"x" * META_LIMIT + b'"}')
    seen = read_agent_meta(path)

    assert isinstance(seen.value, Unknown)
    assert [problem.expected for problem in seen.problems] == [f"at most {META_LIMIT} bytes"]
    assert seen.raw == b""


def test_what_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, found in (("gone", "No such file or directory"), ("pipe", "something else"), ("\0", "null")):
        seen = read_agent_meta(tmp_path / name)
        assert isinstance(seen.value, Unknown)
        [problem] = seen.problems
        assert problem.kind is ProblemKind.MALFORMED
        assert found in problem.found
        assert str(problem)
