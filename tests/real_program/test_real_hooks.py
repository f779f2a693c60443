"""turnlog's hooks in the real program: each arrives once, and the states go as they should."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from real_program.hooked import DOWN, HANGING, UP
from real_program.recordings import Recording, make_once, run_apart
from real_program.script import Scenario
from turnlog.ingest.hook_install import LEFT_OUT
from turnlog.messages.system import StopHookSummary
from turnlog.store.interface import MaintainedStore, find_sessions
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.agent_status import AgentPhase, WaitReason, advance
from turnlog.transcripts.hooks import EVENTS, DeliveryFilter, HookDelivery
from turnlog.transcripts.usage.prices import Prices

SCENARIOS = (UP, DOWN, HANGING)
SECONDS = 400.0
NAMED = {"toolu_read", "toolu_shell", "toolu_fails"}


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    def make(folder: Path) -> None:
        run_apart("real_program.hooked", folder, seconds=SECONDS)

    return make_once(shared / "hooked", make, SECONDS)


@pytest.fixture(scope="module")
def told(folder: Path) -> Any:
    return json.loads((folder / "told.json").read_text())


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[MaintainedStore]:
    store = open_store(folder / "turnlog" / "turnlog.db", read_only=True)
    yield store
    store.close()


@pytest.fixture(params=SCENARIOS, ids=lambda scenario: scenario.name)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    found = request.param
    assert isinstance(found, Scenario)
    return found


def list_deliveries(store: MaintainedStore, scenario: Scenario) -> list[HookDelivery]:
    return store.list_deliveries(LOCAL, DeliveryFilter(session_id=scenario.session_id))


def as_text(payload: Any) -> str:
    return json.dumps(payload, sort_keys=True)


def test_the_command_installed_all_events_that_are_of_use(folder: Path) -> None:
    settings = json.loads((folder / "settings.json").read_text())
    assert set(settings["hooks"]) == set(EVENTS) - set(LEFT_OUT)


def test_every_hook_arrived_once_whatever_the_server_did(
    folder: Path, store: MaintainedStore, report: Callable[[str], None]
) -> None:
    """Hooks that are none of turnlog's were told the same."""
    expected = Counter(as_text(json.loads(path.read_bytes())) for path in (folder / "hooks").iterdir())
    names = {json.loads(text)["hook_event_name"] for text in expected}
    kept = store.list_deliveries(LOCAL)
    found = Counter(as_text(json.loads(delivery.payload)) for delivery in kept if delivery.event_name in names)
    assert found == expected
    assert max(found.values()) == 1
    assert {delivery.session_id for delivery in kept} == {each.session_id for each in SCENARIOS}
    report(f"{len(kept)} hooks, of {len({delivery.event_name for delivery in kept})} events")


def test_a_server_that_runs_is_told_at_once(told: Any, store: MaintainedStore) -> None:
    assert 0 < told["received"] <= len(list_deliveries(store, UP))
    assert told["spooled"] >= len(list_deliveries(store, DOWN))


def test_nothing_was_put_aside_and_nothing_is_left(folder: Path) -> None:
    assert [path.name for path in (folder / "turnlog" / "spool").iterdir() if path.name != "aside"] == []
    assert not (folder / "turnlog" / "spool" / "aside").exists()


def test_the_states_go_as_they_should(store: MaintainedStore, scenario: Scenario) -> None:
    status = None
    phases: list[tuple[AgentPhase, WaitReason | None]] = []
    for delivery in list_deliveries(store, scenario):
        status = advance(status, delivery)
        state = (status.phase, status.why)
        if not phases or phases[-1] != state:
            phases.append(state)
    turn = [(AgentPhase.AUTONOMOUS, None), (AgentPhase.NEEDS_YOU, WaitReason.TURN_ENDED)]
    [run] = scenario.runs
    assert phases == [(AgentPhase.IDLE, None), *(turn * len(run.steps)), (AgentPhase.ENDED, None)]


def test_the_tool_that_runs_is_the_one_that_was_begun(store: MaintainedStore) -> None:
    status = None
    for delivery in list_deliveries(store, UP):
        status = advance(status, delivery)
        if delivery.event_name == "PreToolUse" and delivery.agent_id is None:
            assert (status.tool_name, status.tool_use_id) == (delivery.tool_name, delivery.tool_use_id)
        if delivery.agent_id is not None:
            assert status.tool_use_id == "toolu_agent"


def test_the_server_tells_them_in_the_shape_of_the_spec(
    told: Any, store: MaintainedStore, scenario: Scenario
) -> None:
    expected = [
        (delivery.event_name, delivery.tool_name, delivery.received_ns // 1_000_000_000)
        for delivery in list_deliveries(store, scenario)
        if delivery.event_name != "SessionEnd"
    ]
    events = told["events"][scenario.session_id]
    assert [(each["eventName"], each["toolName"], each["timestamp"]) for each in events] == expected
    assert all(set(each) == {*each} and each["group"] in ("autonomous", "needs_you") for each in events)


def test_both_channels_are_one_timeline(told: Any, store: MaintainedStore, scenario: Scenario) -> None:
    """Each event is there once, those of a call under the message that made it, and none before it.

    The end of a session is no event (spec 002).
    """
    items = told["timelines"][scenario.session_id]
    hooks = [item["hook"] for item in items if item["kind"] == "hook"]
    main = [each for each in list_deliveries(store, scenario) if each.agent_id is None]
    events = {each.delivery_id for each in main if each.event_name != "SessionEnd"}
    assert len(events) < len(main)
    assert events <= {hook["delivery_id"] for hook in hooks}
    assert "SessionEnd" not in {hook["event_name"] for hook in hooks}
    assert len({hook["delivery_id"] for hook in hooks}) == len(hooks)
    callers: dict[str, int] = {}
    for item in items:
        if item["kind"] == "message":
            calls = [block["call"] for block in item["message"]["blocks"] if block["kind"] == "call"]
            callers |= {call["id"]: item["message"]["index"] for call in calls}
        elif item["kind"] == "hook" and item["hook"]["tool_use_id"] in NAMED:
            assert item["hook"]["message"] == callers[item["hook"]["tool_use_id"]]
    told_prompts = [hook for hook in hooks if hook["event_name"] == "UserPromptSubmit"]
    [run] = scenario.runs
    assert len(told_prompts) == len(run.steps)


def test_calls_and_hooks_name_each_other(folder: Path, store: MaintainedStore, scenario: Scenario) -> None:
    calls = Recording(scenario, folder).calls
    named = {
        delivery.tool_use_id
        for delivery in list_deliveries(store, scenario)
        if delivery.tool_use_id is not None
    }
    assert named <= set(calls)
    assert named >= NAMED


def test_the_cost_is_the_programs_own(folder: Path, store: MaintainedStore, scenario: Scenario) -> None:
    recording = Recording(scenario, folder)
    cost = Prices().build_bill(recording.usage.list_messages(scenario.session_id)).cost
    assert abs(cost - recording.reported_cost) < Decimal("0.000000001")
    [session] = find_sessions(store, LOCAL, scenario.session_id)
    assert session.row.cost is not None
    assert abs(Decimal(session.row.cost) - recording.reported_cost) < Decimal("0.000001")


def test_the_time_that_hooks_take_is_told(folder: Path, report: Callable[[str], None]) -> None:
    """The program says itself how long hooks at the end of a turn took; benchmarks/hooks.py measures more."""
    for scenario in SCENARIOS:
        entries = [line.entry for line in Recording(scenario, folder).lines]
        hooks = [
            hook for entry in entries if isinstance(entry, StopHookSummary) for hook in (entry.hook_infos or ())
        ]
        own = [hook.duration_ms for hook in hooks if "# turnlog" in str(hook.command)]
        other = [hook.duration_ms for hook in hooks if "# turnlog" not in str(hook.command)]
        assert len(own) >= len(scenario.runs[0].steps) - 1
        report(f"{scenario.name}: {own} ms; a hook that runs `cat`: {other} ms")
