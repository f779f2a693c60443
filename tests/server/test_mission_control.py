"""`/api/mission-control` over a real port, for sessions that are written down by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from board_scenarios import QUESTION, SECOND, Told
from live_client import listening
from server_app import Served, serving
from turnlog.server.requests import ServerContext
from turnlog.server.routes.mission_control import count_columns
from turnlog.server.session_states import Column, StateChange
from turnlog.server.state_watch import StateTracker, StateWatch
from turnlog.store.interface import MaintainedStore
from turnlog.store.opening import open_store
from turnlog.transcripts.agent_status import WaitReason


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "turnlog.db"


@pytest.fixture
def store(place: Path) -> Iterator[MaintainedStore]:
    opened = open_store(place)
    yield opened
    opened.close()


@pytest.fixture
def board(store: MaintainedStore, tmp_path: Path) -> Iterator[Served]:
    around = ServerContext(config_dirs=(tmp_path / "claude",))
    with serving(tmp_path / "home", store=store, around=around) as running:
        yield running


@pytest.fixture
def told(store: MaintainedStore, place: Path) -> Told:
    return Told(store, place, time.time_ns(), "5e551011-0000-4000-8000-000000000001")


def get_board(board: Served) -> Any:
    answer = board.get("/api/mission-control")
    assert answer.status == 200, answer.body
    return answer.json


def get_card(board: Served) -> Any:
    [card] = get_board(board)["sessions"]
    return card


def test_nobody_works_where_there_is_nobody(board: Served) -> None:
    found = get_board(board)
    assert (found["sessions"], found["spans"], found["waited_ms"]) == ([], [], 0)


def test_a_session_that_only_hooks_told_of(board: Served, told: Told) -> None:
    told.hook("SessionStart", 50, source="startup")
    told.hook("UserPromptSubmit", 40, prompt="Make tea")
    told.hook("PreToolUse", 30, tool_name="Bash", tool_use_id="t1", tool_input={"command": "kettle on"})
    card = get_card(board)
    assert (card["column"], card["phase"], card["why"], card["evidence"]) == (
        "working",
        "autonomous",
        None,
        "hooks",
    )
    assert card["step"] == {
        "tool_name": "Bash",
        "title": "kettle on",
        "since": card["step"]["since"],
        "call_id": "t1",
    }
    assert (card["project"], card["key"], card["title"]) == ("/work/tea", told.session, None)
    assert card["resume"] == f"cd /work/tea && claude --resume {told.session}"
    told.hook("PermissionRequest", 20, tool_name="Bash", tool_use_id="t1", tool_input={"command": "kettle on"})
    card = get_card(board)
    assert (card["column"], card["why"], card["detail"]) == ("needs_you", "permission", "kettle on")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([("SessionStart", {})], ("done", "idle", None)),
        ([("UserPromptSubmit", {})], ("working", "autonomous", None)),
        ([("Notification", {"notification_type": "idle_prompt"})], ("needs_you", "needs_you", "idle")),
        ([("UserPromptSubmit", {}), ("Stop", {})], ("done", "needs_you", "turn_ended")),
        ([("StopFailure", {"error": "rate_limit"})], ("needs_you", "needs_you", "failed")),
        ([("UserPromptSubmit", {}), ("SessionEnd", {"reason": "exit"})], ("done", "ended", None)),
        (
            [
                (
                    "PreToolUse",
                    {"tool_name": "ExitPlanMode", "tool_use_id": "t", "tool_input": {"plan": "Boil."}},
                )
            ],
            ("needs_you", "needs_you", "plan"),
        ),
    ],
)
def test_hooks_tell_where_a_session_stands(
    board: Served,
    told: Told,
    events: list[tuple[str, dict[str, Any]]],
    expected: tuple[str, str, str | None],
) -> None:
    for number, (name, fields) in enumerate(events):
        told.hook(name, 30 - number, **fields)
    card = get_card(board)
    assert (card["column"], card["phase"], card["why"]) == expected
    if expected[2] == "failed":
        assert card["stopped_by"] == "rate_limit"


def test_a_question_shows_its_answers_by_hooks(board: Served, told: Told) -> None:
    told.hook("PreToolUse", 30, tool_name="AskUserQuestion", tool_use_id="t1", tool_input=QUESTION)
    card = get_card(board)
    assert (card["why"], card["detail"], card["options"]) == ("question", "Which tea?", ["Green", "Black"])


def test_a_question_shows_its_answers_by_the_transcript(board: Served, told: Told) -> None:
    told.prompt("Make tea", 60)
    told.call("t1", "AskUserQuestion", QUESTION, 50)
    told.keep()
    card = get_card(board)
    assert (card["column"], card["why"], card["evidence"]) == ("needs_you", "question", "transcript")
    assert (card["detail"], card["options"]) == ("Which tea?", ["Green", "Black"])
    told.result("t1", "Green", 40)
    told.keep()
    card = get_card(board)
    assert (card["column"], card["step"], card["options"]) == ("working", None, [])


def test_a_transcript_tells_step_cost_and_context(board: Served, told: Told) -> None:
    told.prompt("Make tea", 60)
    told.call("t1", "Bash", {"command": "kettle on"}, 50)
    told.keep()
    card = get_card(board)
    assert (card["column"], card["title"], card["git_branch"]) == ("working", "Make tea", "main")
    assert (card["step"]["title"], card["step"]["call_id"]) == ("kettle on", "t1")
    assert (card["context_tokens"], card["context_limit"], card["compacts_at"]) == (20_310, 200_000, 167_000)
    assert card["cost_usd"] > 0
    assert (card["turns"], card["process"], card["agents"]) == (1, "unknown", [])
    assert [bar["category"] for bar in card["call_bars"]] == ["builtin"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("answered", ("done", "turn_ended", None)),
        ("interrupted", ("done", "turn_ended", None)),
        ("failed", ("needs_you", "failed", "API Error: 529 Overloaded")),
        ("prompted", ("working", None, None)),
    ],
)
def test_the_end_of_a_transcript_tells_where_a_session_stands(
    board: Served, told: Told, kind: str, expected: tuple[str, str | None, str | None]
) -> None:
    told.prompt("Make tea", 60)
    if kind == "answered":
        told.answer("Here it is.", ago=50)
    elif kind == "interrupted":
        told.call("t1", "Bash", {"command": "kettle on"}, 50)
        told.prompt("[Request interrupted by user for tool use]", 40)
    elif kind == "failed":
        told.answer("API Error: 529 Overloaded", ago=50, isApiErrorMessage=True, model="<synthetic>")
    told.keep()
    card = get_card(board)
    assert (card["column"], card["why"], card["stopped_by"]) == expected


def test_esc_is_told_by_the_transcript_alone(board: Served, told: Told) -> None:
    told.hook("UserPromptSubmit", 60, prompt="Make tea")
    told.hook("PreToolUse", 50, tool_name="Bash", tool_use_id="t1", tool_input={"command": "kettle on"})
    told.prompt("Make tea", 60)
    told.call("t1", "Bash", {"command": "kettle on"}, 50)
    told.keep()
    assert get_card(board)["column"] == "working"
    told.prompt("[Request interrupted by user for tool use]", 40)
    told.keep()
    card = get_card(board)
    assert (card["column"], card["why"], card["evidence"]) == ("done", "turn_ended", "transcript")
    [span] = get_board(board)["spans"]
    assert [each["kind"] for each in span["intervals"]] == ["working", "done"]


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_a_process_that_is_gone_ends_its_session(board: Served, told: Told, tmp_path: Path) -> None:
    told.hook("UserPromptSubmit", 60, prompt="Make tea")
    folder = tmp_path / "claude" / "sessions"
    folder.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    for pid, expected in ((os.getpid(), ("alive", "working")), (ended.pid, ("gone", "done"))):
        (folder / "1.json").write_text(json.dumps({"pid": pid, "sessionId": told.session}))
        while get_card(board)["process"] != expected[0]:  # looked at once a second
            time.sleep(0.05)
        card = get_card(board)
        assert card["column"] == expected[1]
    assert card["stopped_by"] == "Its process ended while it was working"


def test_spans_tell_when_it_worked_and_when_it_waited(board: Served, told: Told) -> None:
    told.hook("UserPromptSubmit", 100, prompt="Make tea")
    told.hook("PreToolUse", 90, tool_name="Bash", tool_use_id="t1", tool_input={"command": "kettle on"})
    told.hook("PermissionRequest", 80, tool_name="Bash", tool_use_id="t1", tool_input={"command": "kettle on"})
    told.hook("PostToolUse", 50, tool_name="Bash", tool_use_id="t1", tool_input={}, tool_response={})
    told.hook("Stop", 20)
    found = get_board(board)
    [span] = found["spans"]
    assert [each["kind"] for each in span["intervals"]] == ["working", "waiting", "working", "done"]
    assert span["intervals"][0]["to"] == span["intervals"][1]["from"]
    assert 0 <= found["waited_ms"] <= 30_000  # all of it, unless the day has just begun


def test_turns_and_questions_tell_it_without_hooks(board: Served, told: Told) -> None:
    told.prompt("Make tea", 100)
    told.call("t1", "AskUserQuestion", QUESTION, 90)
    told.result("t1", "Green", 60)
    told.answer("Here it is.", ago=50)
    told.keep()
    [span] = get_board(board)["spans"]
    assert [each["kind"] for each in span["intervals"]] == ["working", "waiting", "working", "done"]


def test_deliveries_that_come_late_are_put_in_their_place(board: Served, told: Told) -> None:
    told.hook("UserPromptSubmit", 60, prompt="Make tea")
    told.hook("Stop", 20)
    assert get_card(board)["column"] == "done"
    asked = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "kettle on"}}
    told.hook("PermissionRequest", 40, agent_id="a1", **asked)
    card = get_card(board)
    assert (card["column"], card["why"]) == ("needs_you", "permission")
    [span] = get_board(board)["spans"]
    assert [each["kind"] for each in span["intervals"]] == ["working", "waiting"]


def test_those_that_wait_longest_come_first(board: Served, store: MaintainedStore, place: Path) -> None:
    now = time.time_ns()
    for name, ago in (("b", 30), ("a", 20), ("c", 40)):
        Told(store, place, now, name).hook("Notification", ago, notification_type="idle_prompt")
    Told(store, place, now, "d").hook("UserPromptSubmit", 90)
    Told(store, place, now, "e").hook("Stop", 90)
    assert [card["session_id"] for card in get_board(board)["sessions"]] == ["c", "b", "a", "d", "e"]


def test_what_is_old_is_left_out(board: Served, told: Told, store: MaintainedStore, place: Path) -> None:
    told.hook("UserPromptSubmit", 25 * 3600)
    assert get_board(board)["sessions"] == []
    Told(store, place, time.time_ns(), "new").hook("UserPromptSubmit", 1)
    assert [card["session_id"] for card in get_board(board)["sessions"]] == ["new"]


def test_a_change_of_column_is_told_once(
    board: Served, told: Told, store: MaintainedStore, place: Path
) -> None:
    with listening(board) as client:
        client.read("hello")
        told.hook("UserPromptSubmit", 50, prompt="Make tea")
        first = client.read("state")
        told.hook("PreToolUse", 40, tool_name="Bash", tool_use_id="t1", tool_input={"command": "kettle on"})
        client.await_change(told.session)
        Told(store, place, time.time_ns(), "other").hook("UserPromptSubmit", 1)
        assert client.read("state").data["session_id"] == "other"
        told.hook(
            "PermissionRequest", 30, tool_name="Bash", tool_use_id="t1", tool_input={"command": "kettle on"}
        )
        second = client.read("state")
        told.hook("Stop", 10)
        third = client.read("state")
    assert [event.data for event in (first, second, third)] == [
        {"session_id": told.session, "column": "working", "why": None},
        {"session_id": told.session, "column": "needs_you", "why": "permission"},
        {"session_id": told.session, "column": "done", "why": "turn_ended"},
    ]
    assert {event.id for event in (first, second, third)} == {None}


def test_after_a_restart_the_board_is_the_same(store: MaintainedStore, place: Path, tmp_path: Path) -> None:
    now = time.time_ns()
    for number in range(6):
        told = Told(store, place, now, f"session-{number}")
        told.prompt("Make tea", 90)
        told.call("t1", "Bash", {"command": "kettle on"}, 80)
        if number % 2:
            told.hook("UserPromptSubmit", 90, prompt="Make tea")
            told.hook("PreToolUse", 80, tool_name="Bash", tool_use_id="t1", tool_input={"command": "kettle on"})
        if number > 3:
            told.hook("PermissionRequest", 70, tool_name="Bash", tool_use_id="t1", tool_input={})
    told.keep()
    boards: list[Any] = []
    for _ in range(2):
        with serving(tmp_path / "home", store=store) as running:
            told.hook("Notification", 60 - len(boards), notification_type="idle_prompt")
            boards.append(get_board(running))
            boards.append(get_board(running))
    shown = [
        {
            card["session_id"]: (card["column"], card["phase"], card["why"], card["since"], card["step"])
            for card in each["sessions"]
        }
        for each in boards
    ]
    assert len(shown[0]) == 6
    assert shown[0] == shown[1] == shown[2] == shown[3]


def test_columns_are_counted(store: MaintainedStore, place: Path) -> None:
    now = time.time_ns()
    for name, event in (("a", "UserPromptSubmit"), ("b", "UserPromptSubmit"), ("c", "StopFailure")):
        Told(store, place, now, name).hook(event, 5)
    counted = count_columns(store, StateWatch(store))
    assert (counted[Column.WORKING], counted[Column.NEEDS_YOU], counted[Column.DONE]) == (2, 1, 0)


def test_a_fold_that_goes_on_is_the_fold_of_all(store: MaintainedStore, place: Path) -> None:
    told = Told(store, place, time.time_ns(), "one")
    watch = StateWatch(store)
    names = ["UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"]
    for number in range(1200):
        told.hook(names[number % 5], 2000 - number, tool_name="Bash", tool_use_id=f"t{number // 5}")
        if number % 97 == 0:
            watch.find_hook_state("one")
    kept, fresh = watch.find_hook_history("one"), StateWatch(store).find_hook_history("one")
    assert kept is not None
    assert fresh is not None
    assert (kept.status, kept.moments, kept.last_ns) == (fresh.status, fresh.moments, fresh.last_ns)
    assert kept.last_ns == told.at(2000 - 1199)


def test_what_changes_without_a_word_is_noticed_later(store: MaintainedStore, place: Path) -> None:
    """As an answer that turns out to have been the last."""
    now = [time.time_ns()]
    changes: list[StateChange] = []
    told = Told(store, place, now[0], "one")
    told.prompt("Make tea", 60)
    told.answer("Here it is.", ago=50, stop=None)
    told.keep()
    tracker = StateTracker(store, StateWatch(store, clock=lambda: now[0]), changes.append)
    tracker.prime()
    tracker.recheck()
    assert changes == []
    now[0] += 200 * SECOND
    for _ in range(2):
        tracker.recheck()
    [change] = changes
    assert (change.before, change.state.column, change.state.why) == (
        Column.WORKING,
        Column.DONE,
        WaitReason.TURN_ENDED,
    )
