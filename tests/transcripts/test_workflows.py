"""Runs of workflows: which call started them, which agents they had, what became of each."""

from __future__ import annotations

import json

import pytest

import turnlog
from session_reading import read_golden
from turnlog import Line
from turnlog.messages.sidecars import AgentMeta, WorkflowAgentProgress, WorkflowPhase, WorkflowRecord
from turnlog.transcripts.agent_builder import build_agents
from turnlog.transcripts.agents import AgentLink, AgentSource, WorkflowSource, find_run_id, list_parts
from turnlog.transcripts.call_builder import build_calls
from turnlog.transcripts.kinds import AgentState


def started(shown: object = None, text: str = "Workflow launched in background.", **more: object) -> list[Line]:
    """Return a call of a workflow, and what it was answered."""
    call = {
        "type": "tool_use",
        "id": "c-1",
        "name": "Workflow",
        "input": {"name": "taste", "title": "Taste teas"},
    }
    answer = {"tool_use_id": "c-1", "type": "tool_result", "content": text, **more}
    entries: list[dict[str, object]] = [
        {"type": "assistant", "uuid": "a-1", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": [answer]}},
    ]
    if shown is not None:
        entries[1]["toolUseResult"] = shown
    return [turnlog.decode(json.dumps({**entry, "sessionId": "s-1"})) for entry in entries]


def journal(*entries: dict[str, object]) -> tuple[Line, ...]:
    return tuple(turnlog.decode(json.dumps(entry)) for entry in entries)


def test_a_run_is_joined_to_its_call_by_id_by_task_or_by_the_text() -> None:
    found = read_golden("agents-workflow")

    assert {run.run_id: run.call and run.call.id for run in found.built.workflows} == {
        "wf_aa-1": "c-1",
        "wf_bb-2": "c-2",  # its record names the task that the call became
        "wf_cc-3": "c-3",
        "wf_dd-4": None,
        "wf_ee-5": None,
    }
    assert [run.name for run in found.built.workflows] == ["taste", "pour", "brew", None, None]


def test_agents_of_a_run_hang_under_its_call_and_their_own_agents_under_them() -> None:
    found = read_golden("agents-workflow")

    assert found.run("wf_aa-1").agent_ids == ("r1", "r2", "r3", "r4")
    assert {found[name].linked_by for name in ("r1", "r2", "r3", "r4", "r5", "r6")} == {AgentLink.WORKFLOW}
    assert found.links["r7"] == (None, None)
    assert (found["r1"].children, found["r8"].parent_id, found["r8"].depth) == (("r8",), "r1", 2)
    assert [found[name].run_id for name in ("r1", "r5", "r7", "r8")] == ["wf_aa-1", "wf_bb-2", "wf_dd-4", None]


def test_runs_end_as_their_records_say_and_else_as_their_calls_tell() -> None:
    found = read_golden("agents-workflow")

    assert [(run.state, run.status) for run in found.built.workflows] == [
        (AgentState.DONE, "completed"),
        (AgentState.STOPPED, "killed"),
        (AgentState.RUNNING, None),
        (AgentState.UNKNOWN, None),
        (AgentState.UNKNOWN, None),
    ]


def test_the_journal_and_the_record_say_what_each_agent_was_for_and_came_to() -> None:
    found = read_golden("agents-workflow")
    agents = [found[f"r{n}"] for n in range(1, 8)]

    assert [(agent.description, agent.phase) for agent in agents] == [
        ("sip:green", "Sip"),
        (None, None),
        ("sip:black", "Sip"),
        ("judge", "Judge"),
        ("pour:1", None),
        (None, None),
        (None, "Sip"),
    ]
    assert [agent.state for agent in agents] == [
        AgentState.DONE,
        AgentState.FAILED,  # and r3 was the next try
        AgentState.DONE,
        AgentState.STOPPED,  # it had not ended when the run did
        AgentState.FAILED,
        AgentState.RUNNING,
        AgentState.UNKNOWN,
    ]
    assert [agent.answer for agent in agents] == [
        "Grassy.",
        "r2 tastes.",
        '{"taste":"smoky"}',
        *(f"r{n} tastes." for n in range(4, 8)),
    ]
    assert not any(agent.background for agent in agents)


def test_phases_are_those_announced_and_else_those_reached() -> None:
    found = read_golden("agents-workflow")

    assert found.run("wf_aa-1").phases == (
        WorkflowPhase(title="Sip", detail="one agent for each tea", model="haiku"),
        WorkflowPhase(title="Judge"),
    )
    assert [phase.title for phase in found.run("wf_bb-2").phases] == ["Pour"]
    assert [phase.title for phase in found.run("wf_dd-4").phases] == ["Sip"]
    assert len(found.run("wf_aa-1").journal) == 8


@pytest.mark.parametrize(
    ("shown", "text", "run_id"),
    [
        ({"status": "async_launched", "taskId": "w1", "runId": "wf_1"}, "", "wf_1"),
        ({"status": "async_launched", "taskId": "w1", "transcriptDir": "/x/wf_2-b/"}, "wf_9", "wf_2-b"),
        ({"status": "async_launched", "taskId": "w1", "scriptPath": "/x/taste-wf_3.js"}, "", "wf_3"),
        ({"status": "async_launched", "taskId": "w1"}, "Transcripts: /x/wf_4", "wf_4"),
        (None, "Run ID: wf_5-c.", "wf_5-c"),
        (None, "Nothing.", None),
    ],
)
def test_a_call_says_in_many_ways_which_run_it_started(shown: object, text: str, run_id: str | None) -> None:
    [call] = build_calls(started(shown, text)).calls

    assert find_run_id(call) == run_id


def test_only_calls_of_workflows_that_were_answered_start_runs() -> None:
    lines = started(text="wf_1")
    [waiting] = build_calls(lines[:1]).calls
    [other] = build_calls([turnlog.decode(line.raw.replace(b'"Workflow"', b'"Bash"')) for line in lines]).calls

    assert (find_run_id(waiting), find_run_id(other)) == (None, None)


def test_a_run_that_could_not_be_started_failed() -> None:
    lines = started(text="wf_1 has no script", is_error=True)
    built = build_agents(lines, build_calls(lines).calls, (), [WorkflowSource("wf_1")])

    assert [(run.state, run.name) for run in built.workflows] == [(AgentState.FAILED, "taste")]


def test_a_record_may_list_agents_whose_files_lie_elsewhere() -> None:
    """Of old, all of them lay flat beside other agents."""
    progress = WorkflowAgentProgress(agent_id="r1", label="sip", state="done")
    record = WorkflowRecord(run_id="wf_1", status="completed", workflow_progress=(progress,))
    lines = started(text="wf_1")
    built = build_agents(
        lines, build_calls(lines).calls, [AgentSource("r1")], [WorkflowSource("wf_1", record=record)]
    )

    assert [(agent.run_id, agent.linked_by, agent.state) for agent in built.agents] == [
        ("wf_1", AgentLink.WORKFLOW, AgentState.DONE)
    ]
    assert built.workflows[0].agent_ids == ("r1",)


def test_an_agent_that_a_runs_agent_started_ends_as_its_own_call_says() -> None:
    call = {"type": "tool_use", "id": "c-9", "name": "Agent", "input": {"prompt": "closer"}}
    answer = {"tool_use_id": "c-9", "type": "tool_result", "content": "Close."}
    entries = [
        {"type": "assistant", "uuid": "r-1", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "uuid": "r-2", "message": {"role": "user", "content": [answer]}},
    ]
    held = tuple(turnlog.decode(json.dumps({**entry, "sessionId": "s-1"})) for entry in entries)
    asked = turnlog.decode('{"type":"user","uuid":"q-1","sessionId":"s-1","message":{"content":"closer"}}')
    lines = started(text="wf_1")
    sources = [
        AgentSource("r1", held, build_calls(held).calls, run_id="wf_1"),
        AgentSource("q1", (asked,), meta=AgentMeta(tool_use_id="c-9"), run_id="wf_1"),
    ]
    built = build_agents(lines, build_calls(lines).calls, sources)

    assert [(agent.id, agent.linked_by, agent.state) for agent in built.agents] == [
        ("r1", AgentLink.WORKFLOW, AgentState.RUNNING),
        ("q1", AgentLink.META, AgentState.DONE),
    ]


def test_a_run_whose_call_cannot_be_read_has_no_name() -> None:
    lines = [
        turnlog.decode(line.raw.replace(b'"name": "taste"', b'"name": 7')) for line in started(text="wf_1")
    ]
    lines[0] = turnlog.decode(lines[0].raw.replace(b'{"name": 7, "title": "Taste teas"}', b"[]"))
    built = build_agents(lines, build_calls(lines).calls, (), [WorkflowSource("wf_1")])

    assert [(run.call is not None, run.name) for run in built.workflows] == [(True, None)]


def test_without_a_record_the_notice_tells_of_a_runs_end() -> None:
    text = "<task-notification>\n<tool-use-id>c-1</tool-use-id>\n<status>failed</status>\n</task-notification>"
    notice = turnlog.decode(json.dumps({"type": "user", "sessionId": "s-1", "message": {"content": text}}))
    lines = [*started(text="wf_1"), notice]
    built = build_agents(lines, build_calls(lines).calls, [AgentSource("r1", run_id="wf_1")])

    assert [(run.state, run.status, run.name) for run in built.workflows] == [
        (AgentState.FAILED, "failed", "taste")
    ]
    assert [(agent.state, agent.notice) for agent in built.agents] == [(AgentState.STOPPED, None)]


def test_a_record_names_the_workflow_and_the_type_of_its_agents() -> None:
    progress = WorkflowAgentProgress(agent_id="r1", agent_type="taster")
    record = WorkflowRecord(workflow_name="sip", workflow_progress=(progress, WorkflowAgentProgress(label="x")))
    lines = started("Error: odd", text="wf_1")
    runs = [WorkflowSource("wf_1", record=record), WorkflowSource("wf_2")]
    built = build_agents(lines, build_calls(lines).calls, [AgentSource("r1", run_id="wf_1")], runs)

    assert [(run.name, run.status) for run in built.workflows] == [("sip", None), (None, None)]
    assert [(agent.type, agent.description) for agent in built.agents] == [("taster", None)]


def test_parts_keep_the_last_outcome_and_the_first_label() -> None:
    lines = journal(
        {"type": "started", "agentId": "r1", "label": "one"},
        {"type": "failed", "agentId": "r1", "error": "x"},
        {"type": "result", "agentId": "r1", "label": "two", "result": 7},
        {"type": "started", "key": "nobody"},
        {"type": "sipped", "agentId": "r2"},
    )
    parts = list_parts(WorkflowSource("wf_1", lines))

    assert [(name, part.label, part.answer) for name, part in parts.items()] == [("r1", "one", "7")]
