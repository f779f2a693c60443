from __future__ import annotations

import json

import msgspec
import pytest

import golden
from turnlog.messages import ProblemKind, Unknown, sidecars
from turnlog.messages.base import UNSET, UnknownBlock, Value, encode_value
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.salvage import view
from turnlog.messages.sidecars import (
    AgentMeta,
    AgentTaskKind,
    RequestShape,
    WorkflowAgentProgress,
    WorkflowLog,
    WorkflowPhaseProgress,
    WorkflowRecord,
)

SAMPLES: list[tuple[type[Value], bytes]] = [
    *((AgentMeta, line) for line in golden.lines("sidecars/agent-meta")),
    *((WorkflowRecord, line) for line in golden.lines("sidecars/workflow-record")),
]


def metas() -> list[AgentMeta]:
    return [msgspec.json.decode(line, type=AgentMeta) for line in golden.lines("sidecars/agent-meta")]


def records() -> list[WorkflowRecord]:
    return [msgspec.json.decode(line, type=WorkflowRecord) for line in golden.lines("sidecars/workflow-record")]


@pytest.mark.parametrize(("cls", "line"), SAMPLES)
def test_samples_are_read_and_written_again(cls: type[Value], line: bytes) -> None:
    seen = view(cls, line)

    assert (type(seen.value), seen.problems) == (cls, ())
    assert json.loads(encode_value(seen.value)) == json.loads(line)


def test_every_field_is_set_by_a_sample() -> None:
    found = [value for sample in (*metas(), *records()) for value in golden.walk(sample)]

    assert golden.fields_declared(sidecars) - golden.fields_set(found) == set()


def test_an_agent_knows_its_call_its_parent_and_how_it_was_asked_for() -> None:
    plain, forked, teammate, worker = metas()

    assert (plain.tool_use_id, plain.parent_agent_id, plain.request_shape) == ("c-1", UNSET, UNSET)
    assert (forked.tool_use_id, forked.parent_agent_id, forked.spawn_depth) == ("c-2", "a1", 2)
    assert (forked.request_shape, forked.is_fork) == (RequestShape.FOREGROUND, True)
    assert (teammate.name, teammate.tool_use_id) == ("ben", UNSET)
    assert teammate.task_kind is AgentTaskKind.IN_PROCESS_TEAMMATE
    assert teammate.permission_mode is PermissionMode.ACCEPT_EDITS
    assert worker.workflow_phase == "Sip"


def test_a_record_tells_of_stages_agents_and_remarks() -> None:
    whole, failed = records()

    assert isinstance(whole.workflow_progress, tuple)
    assert [type(entry) for entry in whole.workflow_progress] == [
        WorkflowPhaseProgress,
        WorkflowAgentProgress,
        WorkflowAgentProgress,
        WorkflowLog,
    ]
    assert isinstance(whole.phases, tuple)
    assert [phase.title for phase in whole.phases] == ["Sip", "Judge"]
    assert (bytes(whole.result), failed.result) == (b'{"best":"green"}', UNSET)  # type: ignore[arg-type]
    assert (failed.status, failed.error) == ("failed", "no water")


def test_new_fields_and_values_do_not_hide_the_others() -> None:
    seen = view(AgentMeta, b'{"agentType":"Explore","spawnDepth":"deep","mood":"calm","requestShape":"later"}')

    assert isinstance(seen.value, AgentMeta)
    assert (seen.value.agent_type, seen.value.spawn_depth, seen.value.request_shape) == (
        "Explore",
        UNSET,
        "later",
    )
    assert {problem.kind for problem in seen.problems} == {
        ProblemKind.WRONG_TYPE,
        ProblemKind.UNKNOWN_FIELD,
        ProblemKind.UNKNOWN_VALUE,
    }


def test_new_progress_stays_visible_among_what_is_known() -> None:
    seen = view(WorkflowRecord, b'{"workflowProgress":[{"type":"workflow_cup"},{"type":"workflow_phase"}]}')

    assert isinstance(seen.value, WorkflowRecord)
    assert isinstance(seen.value.workflow_progress, tuple)
    assert [type(entry) for entry in seen.value.workflow_progress] == [UnknownBlock, WorkflowPhaseProgress]


def test_what_is_no_object_is_unknown() -> None:
    assert isinstance(view(AgentMeta, b"[]").value, Unknown)
