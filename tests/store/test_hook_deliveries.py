"""What hooks were given is kept once, as it came, and told as spec 002 tells it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery, build_delivery

SECOND = 1_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MaintainedStore]:
    store = open_store(tmp_path / "turnlog.db")
    yield store
    store.close()


def make(name: str, at: int = SECOND, delivery_id: object = "", **fields: object) -> HookDelivery:
    payload = json.dumps({"session_id": "s1", "hook_event_name": name, **fields}).encode()
    return build_delivery(str(delivery_id or f"{name}-{at}"), at, payload)


def list_events(folder: Path) -> list[dict[str, Any]]:
    """Return spec 002's table, as whoever opens the file sees it."""
    with closing(sqlite3.connect(folder / "turnlog.db")) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("SELECT * FROM hook_events")]


ALL, INPUT, NONE = "all", "input", "none"
"""What the context has of the fields: each of them, the tool's input, or nothing."""

# Every row of section 4.2: the event with its fields, its group, its label and its context.
TABLE: list[tuple[str, dict[str, object], str, str, object]] = [
    ("SessionStart", {"source": "resume", "model": "m"}, "autonomous", "Session started (resume)", ALL),
    ("SessionStart", {}, "autonomous", "Session started", NONE),
    ("UserPromptSubmit", {"prompt": "Brew\n some tea"}, "autonomous", "Brew some tea", ALL),
    ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}}, "autonomous", "Running Bash", INPUT),
    ("PostToolUse", {"tool_name": "Bash", "tool_response": {}}, "autonomous", "Bash completed", NONE),
    (
        "PostToolUseFailure",
        {"tool_name": "Bash", "error": "no", "is_interrupt": True},
        "autonomous",
        "Bash failed",
        {"error": "no", "is_interrupt": True},
    ),
    (
        "PermissionRequest",
        {"tool_name": "Bash", "permission_suggestions": [{"a": 1}]},
        "needs_you",
        "Permission needed for Bash",
        {"permission_suggestions": [{"a": 1}]},
    ),
    (
        "Notification",
        {"notification_type": "permission_prompt", "message": "May I?"},
        "needs_you",
        "May I?",
        ALL,
    ),
    ("Notification", {"notification_type": "idle_prompt"}, "needs_you", "Notification", ALL),
    ("Notification", {"notification_type": "elicitation_dialog"}, "needs_you", "Notification", ALL),
    ("Notification", {"notification_type": "something_new"}, "autonomous", "Notification", ALL),
    ("Notification", {"message": "Claude is waiting"}, "needs_you", "Claude is waiting", ALL),
    ("Stop", {"stop_hook_active": False}, "needs_you", "Stopped", NONE),
    ("SubagentStart", {"agent_type": "Explore", "agent_id": "a1"}, "autonomous", "Agent started: Explore", ALL),
    ("SubagentStop", {"agent_type": "Explore"}, "autonomous", "Agent completed: Explore", NONE),
    ("TeammateIdle", {"teammate_name": "bo", "team_name": "t"}, "autonomous", "Teammate idle: bo", ALL),
    ("TaskCompleted", {"task_id": "1", "task_subject": "Tea"}, "autonomous", "Task completed: Tea", ALL),
    ("PreCompact", {"trigger": "auto"}, "autonomous", "Compacting (auto)", ALL),
    ("SomethingNew", {"x": 1}, "autonomous", "SomethingNew", NONE),
]


@pytest.mark.parametrize(("name", "fields", "group", "label", "context"), TABLE)
def test_each_event_of_the_spec_is_told_as_its_table_says(
    store: MaintainedStore,
    tmp_path: Path,
    name: str,
    fields: dict[str, object],
    group: str,
    label: str,
    context: object,
) -> None:
    delivery = make(name, 7 * SECOND + 5, **fields)
    assert store.add_deliveries(LOCAL, [delivery]) == 1
    [event] = list_events(tmp_path)
    expected = {ALL: fields, INPUT: fields.get("tool_input"), NONE: None}.get(str(context), context)
    found = event.pop("context")
    assert (None if found is None else json.loads(found)) == expected
    assert event == {
        "id": store.list_deliveries(LOCAL)[0].id,
        "session_id": "s1",
        "timestamp": 7,
        "event_name": name,
        "tool_name": "Bash" if "tool_name" in fields else None,
        "label": label,
        "group_name": group,
    }


def test_the_view_has_the_events_that_a_store_lists(store: MaintainedStore, tmp_path: Path) -> None:
    """What has no label or group is told by its name, and as autonomous (section 4.1)."""
    quiet = HookDelivery(delivery_id="q", received_ns=9 * SECOND, session_id="s1", event_name="SomethingNew")
    others = [make(name, at * SECOND) for at, name in enumerate(("SessionEnd", "Stop", "SessionStart"), 1)]
    signed_in = make("Notification", 5 * SECOND, notification_type="auth_success")
    store.add_deliveries(LOCAL, [quiet, *others, signed_in])
    listed = store.list_deliveries(LOCAL, DeliveryFilter(session_id="s1", events_only=True))
    events = {event["id"]: event for event in list_events(tmp_path)}
    assert [each.event_name for each in listed] == ["Stop", "SessionStart", "SomethingNew"]
    assert {each.id: each.event_name for each in listed} == {
        number: event["event_name"] for number, event in events.items()
    }
    told = events[listed[-1].id]
    assert (told["timestamp"], told["label"], told["group_name"]) == (9, "SomethingNew", "autonomous")


@pytest.mark.parametrize("name", ["SubagentStop", "TeammateIdle", "TaskCompleted"])
def test_what_is_metadata_only_has_no_group_of_its_own(name: str) -> None:
    assert make(name).group_name is None


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b'{"hook_event_name":1,"session_id":[]}',
        b'{"hook_event_name":["Stop"],"session_id":{}}',
        b"\xff",
        b"[" * 5000,
        b'"\\ud800"',
    ],
)
def test_whatever_comes_is_kept_as_it_came(store: MaintainedStore, payload: bytes) -> None:
    delivery = build_delivery("d1", 1, payload)
    assert store.add_deliveries(LOCAL, [delivery]) == 1
    [kept] = store.list_deliveries(LOCAL)
    assert kept.payload == payload
    assert (kept.session_id, kept.event_name, kept.label) == ("", "", "Unreadable event")


QUESTIONS = {
    "numbers": DeliveryFilter(ids=[7, 9]),
    "numbers in a session": DeliveryFilter(session_id="s1", ids=[7, 9], events_only=True),
    "names": DeliveryFilter(delivery_ids=["d7", "d9"]),
    "calls": DeliveryFilter(session_id="s1", tool_use_ids=["t7", "t9"]),
    "times": DeliveryFilter(session_id="s1", since_ns=7, until_ns=9),
    "the first": DeliveryFilter(session_id="s1", count=2),
    "the first of all": DeliveryFilter(count=2),
}


@pytest.mark.parametrize("which", QUESTIONS.values(), ids=QUESTIONS)
def test_finding_a_few_deliveries_takes_no_longer_with_many(tmp_path: Path, which: DeliveryFilter) -> None:
    steps = []
    for count in (20, 2000):
        with counted_steps() as taken:
            store = open_store(tmp_path / f"{count}.db")
            store.add_deliveries(
                LOCAL, [make("Stop", at, f"d{at}", tool_use_id=f"t{at}") for at in range(count)]
            )
            taken.clear()
            assert len(store.list_deliveries(LOCAL, which)) == 2
        steps.append(sum(taken))
        store.close()
    assert steps[1] < 2 * steps[0]


@contextmanager
def counted_steps() -> Iterator[list[int]]:
    """Count the steps of SQLite's machine in what new connections are asked."""
    taken: list[int] = []

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(
            apsw.SQLITE_TRACE_PROFILE,
            lambda event: taken.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]),
        )

    apsw.connection_hooks.append(watch)
    try:
        yield taken
    finally:
        apsw.connection_hooks.remove(watch)


def test_labels_are_short(store: MaintainedStore) -> None:
    label = make("UserPromptSubmit", prompt="x" * 10_000).label
    assert label is not None
    assert len(label) == 200


def test_every_payload_of_the_corpus_has_a_name_and_a_label(
    corpus: Path, report: Callable[[str], None]
) -> None:
    count = 0
    for path in sorted((corpus / "hooks").rglob("*.json")):
        found = json.loads(path.read_bytes())
        for payload in found if isinstance(found, list) else [found]:
            delivery = build_delivery("d", 1, json.dumps(payload).encode())
            assert delivery.event_name == (payload.get("hook_event_name") or "")
            assert delivery.label
            count += 1
    report(f"{count} payloads")
