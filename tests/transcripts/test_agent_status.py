"""The state machine against expectations that were written by hand: of every event, and of whole stories."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnlog.messages.hook_events import HookEventName
from turnlog.transcripts.agent_status import AgentPhase, AgentStatus, WaitReason, advance
from turnlog.transcripts.hooks import EVENTS, NOTIFICATIONS, build_delivery

WORKING = (AgentPhase.AUTONOMOUS, None)
IDLE = (AgentPhase.IDLE, None)
ENDED = (AgentPhase.ENDED, None)
PERMISSION = (AgentPhase.NEEDS_YOU, WaitReason.PERMISSION)
QUESTION = (AgentPhase.NEEDS_YOU, WaitReason.QUESTION)
PLAN = (AgentPhase.NEEDS_YOU, WaitReason.PLAN)
PROMPTED_IDLE = (AgentPhase.NEEDS_YOU, WaitReason.IDLE)
FAILED = (AgentPhase.NEEDS_YOU, WaitReason.FAILED)
TURN_ENDED = (AgentPhase.NEEDS_YOU, WaitReason.TURN_ENDED)

Told = tuple[str, dict[str, Any]]
State = tuple[AgentPhase, WaitReason | None]


def tell(*events: Told | str, before: AgentStatus | None = None, start: int = 1) -> AgentStatus:
    """Return the state after events, one nanosecond after another."""
    status = before
    for at, event in enumerate(events, start):
        name, fields = (event, {}) if isinstance(event, str) else event
        payload = json.dumps({"session_id": "s", "hook_event_name": name, **fields}).encode()
        status = advance(status, build_delivery(f"d{at}", at, payload))
    assert status is not None
    return status


def state_of(status: AgentStatus) -> State:
    return status.phase, status.why


def pre(tool: str = "Bash", call: str | None = "c1", **fields: Any) -> Told:
    return "PreToolUse", {"tool_name": tool, "tool_use_id": call, "tool_input": {"command": "ls"}, **fields}


def post(tool: str = "Bash", call: str | None = "c1", **fields: Any) -> Told:
    return "PostToolUse", {"tool_name": tool, "tool_use_id": call, **fields}


def ask(tool: str = "Bash", **fields: Any) -> Told:
    return "PermissionRequest", {"tool_name": tool, "tool_input": {"command": "ls"}, **fields}


def notify(kind: str | None, message: str = "hello") -> Told:
    return "Notification", {"message": message} if kind is None else {
        "message": message,
        "notification_type": kind,
    }


# Every event, told to an agent that works, one whose turn has ended, and one that waits for a permission.
EACH: dict[str, tuple[State, State, State]] = {
    "SessionStart": (IDLE, IDLE, IDLE),
    "UserPromptSubmit": (WORKING, WORKING, WORKING),
    "PreToolUse": (WORKING, WORKING, PERMISSION),
    "PostToolUse": (WORKING, WORKING, PERMISSION),
    "PostToolUseFailure": (WORKING, WORKING, PERMISSION),
    "PermissionRequest": (PERMISSION, PERMISSION, PERMISSION),
    "Notification": (PERMISSION, PROMPTED_IDLE, PERMISSION),
    "Stop": (TURN_ENDED, TURN_ENDED, TURN_ENDED),
    "SessionEnd": (ENDED, ENDED, ENDED),
    "SubagentStart": (WORKING, TURN_ENDED, PERMISSION),
    "SubagentStop": (WORKING, TURN_ENDED, PERMISSION),
    "TeammateIdle": (WORKING, TURN_ENDED, PERMISSION),
    "TaskCompleted": (WORKING, TURN_ENDED, PERMISSION),
    "PreCompact": (WORKING, WORKING, PERMISSION),
    "Setup": (WORKING, TURN_ENDED, PERMISSION),
    "UserPromptExpansion": (WORKING, WORKING, WORKING),
    "PostToolBatch": (WORKING, WORKING, WORKING),
    "PermissionDenied": (WORKING, WORKING, PERMISSION),
    "StopFailure": (FAILED, FAILED, FAILED),
    "PostCompact": (WORKING, TURN_ENDED, PERMISSION),
    "Elicitation": (QUESTION, QUESTION, PERMISSION),
    "ElicitationResult": (WORKING, TURN_ENDED, PERMISSION),
    "MessageDisplay": (WORKING, TURN_ENDED, PERMISSION),
    "TaskCreated": (WORKING, TURN_ENDED, PERMISSION),
    "ConfigChange": (WORKING, TURN_ENDED, PERMISSION),
    "InstructionsLoaded": (WORKING, TURN_ENDED, PERMISSION),
    "WorktreeCreate": (WORKING, TURN_ENDED, PERMISSION),
    "WorktreeRemove": (WORKING, TURN_ENDED, PERMISSION),
    "CwdChanged": (WORKING, TURN_ENDED, PERMISSION),
    "FileChanged": (WORKING, TURN_ENDED, PERMISSION),
    "DirectoryAdded": (WORKING, TURN_ENDED, PERMISSION),
    "PreModelSwitch": (WORKING, TURN_ENDED, PERMISSION),
    "PostModelSwitch": (WORKING, TURN_ENDED, PERMISSION),
    "SomethingNew": (WORKING, WORKING, PERMISSION),
}

# The same of every type of notification.
EACH_NOTIFICATION: dict[str, tuple[State, State, State]] = {
    "permission_prompt": (PERMISSION, PERMISSION, PERMISSION),
    "idle_prompt": (PROMPTED_IDLE, PROMPTED_IDLE, PROMPTED_IDLE),
    "elicitation_dialog": (QUESTION, QUESTION, PERMISSION),
    "auth_success": (WORKING, TURN_ENDED, PERMISSION),
    "worker_permission_prompt": (PERMISSION, PERMISSION, PERMISSION),
    "elicitation_response": (WORKING, TURN_ENDED, PERMISSION),
    "elicitation_complete": (WORKING, TURN_ENDED, PERMISSION),
    "agent_needs_input": (WORKING, TURN_ENDED, PERMISSION),
    "agent_completed": (WORKING, TURN_ENDED, PERMISSION),
    "something_new": (WORKING, TURN_ENDED, PERMISSION),
}

BEFORE: tuple[tuple[Told | str, ...], ...] = (
    ("SessionStart", "UserPromptSubmit"),
    ("SessionStart", "UserPromptSubmit", "Stop"),
    ("SessionStart", "UserPromptSubmit", pre(), ask()),
)


def test_every_event_has_its_expectation() -> None:
    assert set(EACH) - {"SomethingNew"} == set(EVENTS) == {str(name) for name in HookEventName}
    assert set(EACH_NOTIFICATION) - {"something_new"} == set(NOTIFICATIONS)


@pytest.mark.parametrize("name", EACH)
def test_every_event_changes_the_state_as_expected(name: str) -> None:
    found = tuple(state_of(tell(*before, (name, {"tool_name": "Other"}))) for before in BEFORE)
    assert found == EACH[name]


@pytest.mark.parametrize("name", EACH)
def test_an_event_of_a_sub_agent_changes_nothing_unless_it_asks(name: str) -> None:
    found = tuple(
        state_of(tell(*before, (name, {"tool_name": "Other", "agent_id": "a1"}))) for before in BEFORE
    )
    asks = {"PermissionRequest": PERMISSION, "Elicitation": QUESTION}.get(name)
    assert found == (asks or WORKING, asks or TURN_ENDED, PERMISSION)


@pytest.mark.parametrize("kind", EACH_NOTIFICATION)
def test_every_notification_changes_the_state_as_expected(kind: str) -> None:
    assert tuple(state_of(tell(*before, notify(kind))) for before in BEFORE) == EACH_NOTIFICATION[kind]


@pytest.mark.parametrize("name", EACH)
def test_only_a_start_a_prompt_or_a_call_wakes_what_has_ended(name: str) -> None:
    found = state_of(tell("SessionStart", "SessionEnd", (name, {"tool_name": "Other"})))
    woken = {"SessionStart": IDLE, "UserPromptSubmit": WORKING, "UserPromptExpansion": WORKING}
    assert found == {**woken, "PreToolUse": WORKING}.get(name, ENDED)


def test_a_session_as_it_usually_goes() -> None:
    events: list[Told | str] = [
        "InstructionsLoaded",
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Brew tea"}),
        pre(),
        ask(),
        notify("permission_prompt"),
        post(),
        "PostToolBatch",
        ("MessageDisplay", {"final": True}),
        ("Stop", {"last_assistant_message": "The tea\nis ready"}),
        notify("idle_prompt", "Claude is waiting for your input"),
        ("UserPromptSubmit", {"prompt": "Thanks"}),
        "Stop",
        "SessionEnd",
    ]
    status, found = None, []
    for at, event in enumerate(events, 1):
        status = tell(event, before=status, start=at)
        found.append((*state_of(status), status.since_ns, status.tool_name, status.detail))
    assert found == [
        (*IDLE, 1, None, None),
        (*IDLE, 1, None, None),
        (*WORKING, 3, None, None),
        (*WORKING, 3, "Bash", None),
        (*PERMISSION, 5, "Bash", "ls"),
        (*PERMISSION, 5, "Bash", "ls"),
        (*WORKING, 3, None, None),
        (*WORKING, 3, None, None),
        (*WORKING, 3, None, None),
        (*TURN_ENDED, 10, None, "The tea is ready"),
        (*PROMPTED_IDLE, 11, None, "Claude is waiting for your input"),
        (*WORKING, 12, None, None),
        (*TURN_ENDED, 13, None, None),
        (*ENDED, 14, None, None),
    ]


def test_a_permission_names_the_call_with_the_same_input() -> None:
    other = pre(call="c2", tool_input={"command": "rm"})
    status = tell("UserPromptSubmit", pre(), other, ask(tool_input={"command": "rm"}))
    assert (status.tool_use_id, status.detail) == ("c2", "rm")
    assert state_of(tell(post(), before=status)) == PERMISSION
    assert state_of(tell(post(call="c2"), before=status)) == WORKING


def test_two_permissions_are_given_one_after_the_other() -> None:
    status = tell("UserPromptSubmit", pre(), pre(call="c2"), ask(), ask())
    assert (status.tool_use_id, status.since_ns) == ("c1", 4)
    status = tell(post(), before=status, start=6)
    assert (*state_of(status), status.tool_use_id, status.since_ns) == (*PERMISSION, "c2", 5)
    assert state_of(tell(post(call="c2"), before=status, start=7)) == WORKING


@pytest.mark.parametrize("after", ["PostToolUse", "PostToolUseFailure", "PermissionDenied"])
def test_whatever_ends_a_call_ends_the_wait_for_it(after: str) -> None:
    ended = (after, {"tool_name": "Bash", "tool_use_id": "c1"})
    assert state_of(tell("UserPromptSubmit", pre(), ask(), ended)) == WORKING
    assert state_of(tell("UserPromptSubmit", pre(call=None), ask(), (after, {"tool_name": "Bash"}))) == WORKING


@pytest.mark.parametrize(("tool", "state"), [("AskUserQuestion", QUESTION), ("ExitPlanMode", PLAN)])
def test_a_question_and_a_plan_wait_for_the_person(tool: str, state: State) -> None:
    given = {"questions": [{"question": "Which\ntea?"}], "plan": "Boil water"}
    given = {"questions": given["questions"]} if tool == "AskUserQuestion" else {"plan": given["plan"]}
    begun = tell("UserPromptSubmit", pre(tool, tool_input=given))
    assert (*state_of(begun), begun.tool_name, begun.since_ns) == (*state, tool, 2)
    assert begun.detail in ("Which tea?", "Boil water")
    asked = tell(ask(tool, tool_input=given), notify("permission_prompt"), before=begun, start=3)
    assert (*state_of(asked), asked.since_ns, len(asked.waits)) == (*state, 2, 1)
    assert state_of(tell(post(tool), before=asked, start=5)) == WORKING


def test_a_question_that_was_not_begun_but_asked_for_waits_too() -> None:
    assert state_of(tell("UserPromptSubmit", ask("AskUserQuestion"))) == QUESTION
    assert state_of(tell("UserPromptSubmit", ask("ExitPlanMode"))) == PLAN


def test_a_sub_agent_that_asks_waits_until_its_own_call_returns() -> None:
    asked = tell("UserPromptSubmit", pre("Agent"), pre(call="c9", agent_id="a1"), ask(agent_id="a1"))
    assert (*state_of(asked), asked.agent_id, asked.tool_use_id) == (*PERMISSION, "a1", "c9")
    others = (post(call="c8", agent_id="a2"), pre(call="c3"), post(call="c3"), "Stop", "PostToolBatch")
    assert state_of(tell(*others, before=asked)) == PERMISSION
    assert state_of(tell(post(call="c9", agent_id="a1"), before=asked)) == WORKING
    assert state_of(tell(("SubagentStop", {"agent_id": "a1"}), before=asked)) == WORKING
    assert state_of(tell("SubagentStop", before=asked)) == PERMISSION
    assert state_of(tell("Stop", post(call="c9", agent_id="a1"), before=asked)) == TURN_ENDED
    assert state_of(tell("SessionEnd", before=asked)) == ENDED


def test_a_server_that_asks_waits_until_it_is_answered() -> None:
    first = ("Elicitation", {"mcp_server_name": "tea", "message": "Sugar?", "elicitation_id": "e1"})
    second = ("Elicitation", {"mcp_server_name": "cake", "message": "Cream?"})
    asked = tell("UserPromptSubmit", first, second, notify("elicitation_dialog"))
    assert (*state_of(asked), asked.detail, len(asked.waits)) == (*QUESTION, "Sugar?", 2)
    wrong = ("ElicitationResult", {"mcp_server_name": "tea", "elicitation_id": "e2"})
    right = ("ElicitationResult", {"mcp_server_name": "tea", "elicitation_id": "e1"})
    assert len(tell(wrong, before=asked).waits) == 2
    answered = tell(right, before=asked)
    assert answered.detail == "Cream?"
    assert state_of(tell(("ElicitationResult", {"mcp_server_name": "cake"}), before=answered)) == WORKING
    assert state_of(tell(notify("elicitation_response"), before=asked)) == WORKING


def test_a_notification_without_more_waits_until_the_agent_goes_on() -> None:
    asked = tell("UserPromptSubmit", notify("permission_prompt", "May I?"))
    assert (*state_of(asked), asked.detail) == (*PERMISSION, "May I?")
    for event in (pre(), post(), "UserPromptSubmit", "SomethingNew"):
        assert state_of(tell(event, before=asked)) == WORKING
    for event in ("SubagentStop", "FileChanged", pre(agent_id="a1")):
        assert state_of(tell(event, before=asked)) == PERMISSION
    known = tell(pre(), ask(), before=asked)
    assert len(known.waits) == 1


def test_versions_of_old_do_not_say_what_a_notification_is_about() -> None:
    assert state_of(tell("UserPromptSubmit", notify(None))) == PERMISSION
    assert state_of(tell("UserPromptSubmit", "Stop", notify(None))) == PROMPTED_IDLE


def test_an_interruption_ends_the_turn_without_a_stop() -> None:
    failed = ("PostToolUseFailure", {"tool_name": "Bash", "tool_use_id": "c1", "is_interrupt": True})
    assert state_of(tell("UserPromptSubmit", pre(), failed)) == TURN_ENDED


def test_compaction_within_a_turn_goes_on_and_by_hand_rests() -> None:
    def compaction(trigger: str) -> list[Told]:
        again = ("SessionStart", {"source": "compact"})
        return [("PreCompact", {"trigger": trigger}), again, ("PostCompact", {"trigger": trigger})]

    assert state_of(tell("UserPromptSubmit", *compaction("auto"))) == WORKING
    manual = compaction("manual")
    assert state_of(tell("SessionStart", manual[0])) == WORKING
    for end in (manual[1:], manual[1:2], manual[2:]):
        assert state_of(tell("SessionStart", manual[0], *end)) == IDLE
    assert state_of(tell("SessionStart", manual[0], "UserPromptSubmit", manual[2])) == WORKING


def test_the_tool_that_runs_is_the_last_that_was_begun() -> None:
    status = tell("UserPromptSubmit", pre("Read"), pre("Grep", "c2"), pre("Bash", "c3", agent_id="a1"))
    assert (status.tool_name, status.tool_use_id, status.tool_since_ns) == ("Grep", "c2", 3)
    status = tell(post("Grep", "c2"), before=status)
    assert (status.tool_name, status.tool_use_id, status.tool_since_ns) == ("Read", "c1", 2)
    assert tell("PostToolBatch", before=status).tool_name is None
    assert tell("Stop", before=status).tool_name is None


def test_an_error_and_the_last_words_are_told_in_a_line() -> None:
    failed = tell(("StopFailure", {"error": "rate_limit", "error_details": "429\nslow down"}))
    assert failed.detail == "429 slow down"
    assert tell(("StopFailure", {"error": "rate_limit"})).detail == "rate_limit"
    long = tell(("Stop", {"last_assistant_message": "x" * 1000})).detail
    assert long is not None
    assert len(long) == 300


def test_what_is_remembered_is_bounded() -> None:
    calls = [pre(call=f"c{number}", tool_input={"command": str(number)}) for number in range(200)]
    asks = [ask(tool_input={"command": str(number)}) for number in range(200)]
    status = tell("UserPromptSubmit", *calls, *asks)
    assert len(status.calls) == len(status.waits) == 64


@pytest.mark.parametrize("payload", [b"", b"[]", b'{"hook_event_name":1}', b"\xff", b"[" * 5000])
def test_what_cannot_be_read_moves_nothing(payload: bytes) -> None:
    delivery = build_delivery("d", 9, payload)
    assert state_of(advance(None, delivery)) == IDLE
    assert state_of(advance(tell("Stop"), delivery)) == TURN_ENDED


@pytest.mark.parametrize("questions", [1, [], [1], [{}], [{"question": 1}], "x"])
def test_a_question_of_another_shape_has_no_detail(questions: object) -> None:
    status = tell(pre("AskUserQuestion", tool_input={"questions": questions}))
    assert (*state_of(status), status.detail) == (*QUESTION, None)
