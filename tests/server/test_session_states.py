"""The rules of mission control by themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from turnlog.server.routes.mission_control import find_compaction, find_limit
from turnlog.server.session_states import (
    Column,
    ColumnChange,
    Evidence,
    Interval,
    LastKind,
    LastMessage,
    ListedState,
    OpenCall,
    ProcessState,
    SessionState,
    SpanKind,
    Transcript,
    build_intervals,
    clip_intervals,
    combine_states,
    find_column,
    infer_state,
    read_question,
    sum_waits,
    to_listed_state,
)
from turnlog.server.state_watch import find_processes
from turnlog.transcripts.agent_status import AgentPhase, WaitReason

SECOND = 1_000_000_000
NOW = 1_000_000 * SECOND


@pytest.mark.parametrize(
    ("phase", "why", "column"),
    [
        *(
            (AgentPhase.NEEDS_YOU, why, Column.NEEDS_YOU)
            for why in WaitReason
            if why is not WaitReason.TURN_ENDED
        ),
        (AgentPhase.NEEDS_YOU, WaitReason.TURN_ENDED, Column.DONE),
        (AgentPhase.AUTONOMOUS, None, Column.WORKING),
        (AgentPhase.IDLE, None, Column.DONE),
        (AgentPhase.ENDED, None, Column.DONE),
    ],
)
def test_each_state_has_its_column(phase: AgentPhase, why: WaitReason | None, column: Column) -> None:
    assert find_column(phase, why) is column


def answer(**more: object) -> LastMessage:
    return LastMessage(kind=LastKind.ANSWER, at_ns=NOW - 5 * SECOND, **more)  # type: ignore[arg-type]


def prompt() -> LastMessage:
    return LastMessage(kind=LastKind.PROMPT, at_ns=NOW - 5 * SECOND)


def call(name: str) -> OpenCall:
    return OpenCall(name=name, id="t1", started_ns=NOW - 4 * SECOND, detail="this")


@pytest.mark.parametrize(
    ("last", "calls", "expected"),
    [
        (None, (), (AgentPhase.IDLE, None)),
        (prompt(), (), (AgentPhase.AUTONOMOUS, None)),
        (answer(complete=True), (), (AgentPhase.NEEDS_YOU, WaitReason.TURN_ENDED)),
        (answer(complete=None), (), (AgentPhase.AUTONOMOUS, None)),
        (answer(complete=False), (), (AgentPhase.AUTONOMOUS, None)),
        (answer(complete=True, calls=1), (), (AgentPhase.AUTONOMOUS, None)),
        (answer(calls=1), (call("Bash"),), (AgentPhase.AUTONOMOUS, None)),
        (answer(calls=1), (call("AskUserQuestion"),), (AgentPhase.NEEDS_YOU, WaitReason.QUESTION)),
        (answer(calls=2), (call("Bash"), call("ExitPlanMode")), (AgentPhase.NEEDS_YOU, WaitReason.PLAN)),
        (answer(error="529 Overloaded"), (), (AgentPhase.NEEDS_YOU, WaitReason.FAILED)),
        (answer(aborted=True), (), (AgentPhase.NEEDS_YOU, WaitReason.TURN_ENDED)),
        (
            LastMessage(kind=LastKind.INTERRUPTION, at_ns=NOW),
            (call("Bash"),),
            (AgentPhase.NEEDS_YOU, WaitReason.TURN_ENDED),
        ),
    ],
)
def test_the_end_of_a_transcript_tells_the_state(
    last: LastMessage | None, calls: tuple[OpenCall, ...], expected: tuple[AgentPhase, WaitReason | None]
) -> None:
    state = infer_state(Transcript(last=last, calls=calls, seen_ns=NOW - SECOND), NOW)
    assert (state.phase, state.why, state.evidence) == (*expected, Evidence.TRANSCRIPT)


def test_an_answer_that_does_not_say_it_is_complete_is_taken_for_it_after_a_while() -> None:
    transcript = Transcript(last=answer(complete=None), seen_ns=NOW)
    assert infer_state(transcript, NOW + 100 * SECOND).phase is AgentPhase.AUTONOMOUS
    assert infer_state(transcript, NOW + 200 * SECOND).why is WaitReason.TURN_ENDED


def test_a_call_says_since_when_and_what() -> None:
    state = infer_state(Transcript(last=answer(calls=1), calls=(call("Bash"),), seen_ns=NOW), NOW)
    assert (state.tool_name, state.tool_use_id, state.since_ns) == ("Bash", "t1", NOW - 4 * SECOND)
    after = infer_state(Transcript(last=answer(calls=1, results_ns=NOW - SECOND), seen_ns=NOW), NOW)
    assert (after.tool_name, after.since_ns) == (None, NOW - SECOND)


def state(
    phase: AgentPhase, why: WaitReason | None = None, *, ago: int, evidence: Evidence = Evidence.HOOKS
) -> SessionState:
    at = NOW - ago * SECOND
    return SessionState(phase=phase, why=why, since_ns=at, evidence=evidence, seen_ns=at)


WORKS = state(AgentPhase.AUTONOMOUS, ago=60)
ASKS = state(AgentPhase.NEEDS_YOU, WaitReason.PERMISSION, ago=60)
INTERRUPTED = state(AgentPhase.NEEDS_YOU, WaitReason.TURN_ENDED, ago=10, evidence=Evidence.TRANSCRIPT)
EARLIER = state(AgentPhase.AUTONOMOUS, ago=90, evidence=Evidence.TRANSCRIPT)


@pytest.mark.parametrize(
    ("hooks", "transcript", "process", "expected"),
    [
        (None, None, ProcessState.UNKNOWN, None),
        (WORKS, None, ProcessState.UNKNOWN, WORKS),
        (None, EARLIER, ProcessState.UNKNOWN, EARLIER),
        (ASKS, EARLIER, ProcessState.ALIVE, ASKS),
        (WORKS, INTERRUPTED, ProcessState.ALIVE, INTERRUPTED),
        (replace(WORKS, seen_ns=NOW), INTERRUPTED, ProcessState.ALIVE, replace(WORKS, seen_ns=NOW)),
    ],
)
def test_hooks_count_unless_the_transcript_knows_of_something_later(
    hooks: SessionState | None,
    transcript: SessionState | None,
    process: ProcessState,
    expected: SessionState | None,
) -> None:
    assert combine_states(hooks, transcript, process, NOW) == expected


def test_whose_process_is_gone_has_ended() -> None:
    for hooks, cut_off in ((WORKS, True), (ASKS, False)):
        found = combine_states(hooks, EARLIER, ProcessState.GONE, NOW)
        assert found is not None
        assert (found.phase, found.cut_off, found.since_ns) == (AgentPhase.ENDED, cut_off, NOW - 60 * SECOND)


def test_nobody_works_for_hours_without_a_sign_unless_the_process_lives() -> None:
    later = NOW + 7200 * SECOND
    forgotten = combine_states(WORKS, None, ProcessState.UNKNOWN, later)
    assert forgotten is not None
    assert forgotten.phase is AgentPhase.IDLE
    assert combine_states(WORKS, None, ProcessState.ALIVE, later) == WORKS
    assert combine_states(ASKS, None, ProcessState.UNKNOWN, later) == ASKS


@pytest.mark.parametrize(
    ("known", "word"),
    [
        (WORKS, ListedState.WORKING),
        (ASKS, ListedState.NEEDS_YOU),
        (INTERRUPTED, ListedState.DONE),
        (state(AgentPhase.NEEDS_YOU, WaitReason.FAILED, ago=1), ListedState.STOPPED),
        (replace(state(AgentPhase.ENDED, ago=1), cut_off=True), ListedState.STOPPED),
        (state(AgentPhase.ENDED, ago=1), ListedState.DONE),
        (state(AgentPhase.IDLE, ago=1), ListedState.IDLE),
    ],
)
def test_a_state_in_a_word(known: SessionState, word: ListedState) -> None:
    assert to_listed_state(known) is word


def test_intervals_lie_between_changes() -> None:
    moments = [
        ColumnChange(10, Column.WORKING),
        ColumnChange(20, Column.NEEDS_YOU),
        ColumnChange(25, Column.WORKING),
    ]
    moments += [ColumnChange(30, Column.WORKING), ColumnChange(40, Column.DONE)]
    found = build_intervals(moments, 50)
    assert found == [
        Interval(10, 20, SpanKind.WORKING),
        Interval(20, 25, SpanKind.WAITING),
        Interval(25, 40, SpanKind.WORKING),
        Interval(40, 50, SpanKind.DONE),
    ]
    assert clip_intervals(found, 22)[0] == Interval(22, 25, SpanKind.WAITING)
    assert sum_waits(found) == 5
    assert build_intervals([], 50) == []


def test_moments_that_run_backwards_make_no_intervals_that_do() -> None:
    found = build_intervals([ColumnChange(30, Column.WORKING), ColumnChange(20, Column.NEEDS_YOU)], 50)
    assert found == [Interval(30, 50, SpanKind.WAITING)]


@pytest.mark.parametrize(
    ("model", "tokens", "limit", "compacts"),
    [
        ("claude-sonnet-4-5", 20_000, 200_000, 167_000),
        ("claude-sonnet-4-5", 250_000, None, None),
        ("claude-opus-4-6", 20_000, None, None),
        ("claude-opus-4-6", 250_000, 1_000_000, 967_000),
        ("claude-opus-4-6[1m]", 20_000, 1_000_000, 967_000),
        ("nobody-knows", 20_000, None, None),
        (None, None, None, None),
    ],
)
def test_a_limit_is_told_only_where_it_is_known(
    model: str | None, tokens: int | None, limit: int | None, compacts: int | None
) -> None:
    assert find_limit(model, tokens) == limit
    assert find_compaction(limit) == compacts


@pytest.mark.parametrize(
    "given", [None, Raw(b""), Raw(b"[]"), Raw(b'{"questions":5}'), Raw(b'{"questions":[5]}'), Raw(b"{")]
)
def test_what_is_no_question_offers_nothing(given: Raw | None) -> None:
    assert read_question(given).options == ()


def write_file(folder: Path, **fields: object) -> None:
    (folder / "sessions").mkdir(exist_ok=True)
    (folder / "sessions" / f"{fields['pid']}.json").write_text(json.dumps(fields))


def find_start(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_processes_live_or_are_gone(tmp_path: Path) -> None:
    own = os.getpid()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    write_file(tmp_path, pid=own, sessionId="alive", procStart=find_start(own), status="busy")
    write_file(tmp_path, pid=ended.pid, sessionId="gone", procStart="1")
    (tmp_path / "sessions" / "x.json").write_text("{broken")
    (tmp_path / "sessions" / "notes.txt").write_text("{}")
    assert find_processes([tmp_path, tmp_path / "nowhere"]) == {
        "alive": ProcessState.ALIVE,
        "gone": ProcessState.GONE,
    }


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"procStart": "1"}, ProcessState.GONE),
        ({}, ProcessState.ALIVE),
        ({"procStart": "Thu Jun 11 21:53:36 2026"}, ProcessState.ALIVE),
        ({"procStart": "1", "pidDomain": "darwin"}, ProcessState.UNKNOWN),
        ({"pid": -1}, ProcessState.UNKNOWN),
    ],
)
def test_a_number_may_be_another_s_by_now(
    tmp_path: Path, fields: dict[str, object], expected: ProcessState
) -> None:
    write_file(tmp_path, **{"pid": os.getpid(), "sessionId": "one"} | fields)
    assert find_processes([tmp_path]) == {"one": expected}
