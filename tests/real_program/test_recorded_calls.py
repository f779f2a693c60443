"""Calls and agents of the real program: each with its own result, however it came, or did not come."""

from __future__ import annotations

import json

from real_program.recordings import Recording
from turnlog.transcripts import CallState, Pairing, build_calls, find_offloaded


def test_each_call_has_its_own_result(any_recording: Recording) -> None:
    for lines in any_recording.files.values():
        calls = build_calls(lines)
        assert not calls.orphans
        for call in calls.calls:
            assert call.result is None or (call.result.tool_use_id, call.paired_by) == (call.id, Pairing.ID)


def test_parallel_calls_are_told_apart(tools: Recording) -> None:
    read, shell = tools.calls["toolu_read"], tools.calls["toolu_shell"]
    assert read.result is not None
    assert shell.result is not None
    assert "alpha" in read.result.text
    assert shell.result.text == "beta"


def test_outcomes_are_what_they_were(tools: Recording) -> None:
    assert {name: call.state.value for name, call in tools.calls.items()} == {
        "toolu_read": "resolved",
        "toolu_shell": "resolved",
        "toolu_fails": "failed",
        "toolu_denied": "rejected",
        "toolu_unheard_of": "failed",
        "toolu_misused": "failed",
        "toolu_much": "resolved",
        "toolu_edit": "resolved",
        "toolu_picture": "resolved",
        "toolu_behind": "resolved",
    }
    assert [name for name, call in tools.calls.items() if not call.known] == ["toolu_unheard_of"]


def test_a_long_result_is_found_whole_in_its_file(tools: Recording) -> None:
    result = tools.calls["toolu_much"].result
    assert result is not None
    assert result.offloaded_path is not None
    path = find_offloaded(tools.session, result.offloaded_path)
    assert path is not None
    assert path in tools.session.tool_results
    assert path.read_text().split() == [str(number) for number in range(1, 30001)]


def test_a_picture_is_in_its_result(tools: Recording) -> None:
    result = tools.calls["toolu_picture"].result
    assert result is not None
    assert len(result.images) == 1


def test_a_command_in_the_background_is_answered_later(tools: Recording) -> None:
    call = tools.calls["toolu_behind"]
    assert call.result is not None
    assert call.result.state is CallState.PLACEHOLDER
    assert call.notice is not None
    assert call.notice.task_id == call.result.task_id
    assert call.notice.status == "completed"


def test_agents_have_files_of_their_own_and_name_their_calls(agents: Recording) -> None:
    found = {}
    for agent in agents.session.agents:
        assert agent.path is not None
        assert agent.meta is not None
        meta = json.loads(agent.meta.read_bytes())
        found[meta["toolUseId"]] = agent.agent_id, meta.get("parentAgentId")
    assert set(found) == {"toolu_first", "toolu_second", "toolu_outer", "toolu_inner", "toolu_away"}
    assert {name: agents.calls[name].agent_id for name in found} == {name: found[name][0] for name in found}
    outer = found["toolu_outer"][0]
    assert {name: parent for name, (_, parent) in found.items() if parent} == {"toolu_inner": outer}


def test_parallel_agents_report_to_their_own_calls(agents: Recording) -> None:
    for name, report in (("toolu_first", "One was echoed."), ("toolu_second", "Two was echoed.")):
        result = agents.calls[name].result
        assert result is not None
        assert report in result.text


def test_an_agent_in_the_background_answers_later(agents: Recording) -> None:
    call = agents.calls["toolu_away"]
    assert call.result is not None
    assert call.result.state is CallState.PLACEHOLDER
    assert call.state is CallState.RESOLVED
    assert call.notice is not None
    assert call.notice.task_id == call.agent_id
    assert call.notice.result == "The file is there."


def test_what_was_interrupted_is_neither_done_nor_failed(interruption: Recording) -> None:
    states = {name: call.state for name, call in interruption.calls.items()}
    assert states["toolu_quick"] is CallState.RESOLVED
    # The program itself calls a command that is stopped while it runs rejected by the user.
    for name in ("toolu_hangs", "toolu_signalled"):
        assert states[name] in (CallState.REJECTED, CallState.INTERRUPTED)
    assert states["toolu_killed"] is CallState.INTERRUPTED
    assert states["toolu_abandoned"] is CallState.UNRESOLVED


def test_a_fork_copies_calls_that_are_still_the_same_calls(interruption: Recording) -> None:
    own, fork = interruption.files.values()
    forked = {each.id for each in build_calls(fork).calls}
    assert {each.id for each in build_calls(own).calls} == forked - {"toolu_abandoned"}
    together = build_calls((*own, *fork)).calls
    assert len(together) == len(forked)
