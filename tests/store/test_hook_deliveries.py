"""What hooks were given is kept once, as it came, and told as spec 002 tells it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from turnlog.ingest.hook_facts import build_delivery
from turnlog.store.hooks import HookDelivery, HookEvent
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.sqlite import SqliteStore
from turnlog.testing.builders import make_batch, make_lines

SECOND = 1_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "turnlog.db")
    yield store
    store.close()


def make(name: str, at: int = SECOND, delivery_id: object = "", **fields: object) -> HookDelivery:
    payload = json.dumps({"session_id": "s1", "hook_event_name": name, **fields}).encode()
    return build_delivery(str(delivery_id or f"{name}-{at}"), at, payload)


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
    store: SqliteStore, name: str, fields: dict[str, object], group: str, label: str, context: object
) -> None:
    delivery = make(name, 7 * SECOND + 5, **fields)
    assert store.add_deliveries(LOCAL, [delivery]) == 1
    [event] = store.list_hook_events(LOCAL, "s1")
    expected = {ALL: fields, INPUT: fields.get("tool_input"), NONE: None}.get(str(context), context)
    found = None if event.context is None else json.loads(event.context)
    assert found == expected
    assert event == HookEvent(
        id=1,
        session_id="s1",
        timestamp=7,
        event_name=name,
        tool_name="Bash" if "tool_name" in fields else None,
        label=label,
        group_name=group,
        context=event.context,
    )


def test_the_end_of_a_session_and_a_sign_in_are_kept_but_are_no_events(store: SqliteStore) -> None:
    deliveries = [
        make("SessionEnd", 1 * SECOND, reason="clear"),
        make("Notification", 2 * SECOND, notification_type="auth_success"),
        make("Stop", 3 * SECOND),
    ]
    store.add_deliveries(LOCAL, deliveries)
    assert [event.event_name for event in store.list_hook_events(LOCAL, "s1")] == ["Stop"]
    assert store.list_deliveries(LOCAL, "s1") == deliveries


@pytest.mark.parametrize("name", ["SubagentStop", "TeammateIdle", "TaskCompleted"])
def test_what_is_metadata_only_has_no_group_of_its_own(name: str) -> None:
    assert make(name).group_name is None


def test_a_delivery_that_comes_twice_is_one_row(store: SqliteStore) -> None:
    first = make("Stop", SECOND, "d1")
    again = replace(first, received_ns=2 * SECOND)
    assert store.add_deliveries(LOCAL, [first, again, make("Stop", SECOND, "d2")]) == 2
    last = store.find_last_change(LOCAL)
    assert store.add_deliveries(LOCAL, [again]) == 0
    assert store.find_last_change(LOCAL) == last
    assert [each.received_ns for each in store.list_deliveries(LOCAL)] == [SECOND, SECOND]


def test_deliveries_are_in_the_feed_and_in_the_order_of_time(store: SqliteStore) -> None:
    late, early = make("Stop", 5 * SECOND + 1), make("PreToolUse", 5 * SECOND)
    store.add_deliveries(LOCAL, [late, early])
    entries = store.list_changes(LOCAL)
    assert [(each.kind, each.session, each.at_ns) for each in entries] == [
        (ChangeKind.HOOK_DELIVERED, "s1", late.received_ns),
        (ChangeKind.HOOK_DELIVERED, "s1", early.received_ns),
    ]
    assert store.list_deliveries(LOCAL) == [early, late]
    names = [event.event_name for event in store.list_hook_events(LOCAL, "s1")]
    assert names == ["PreToolUse", "Stop"]
    assert [e.event_name for e in store.list_hook_events(LOCAL, "s1", first=1, count=5)] == ["Stop"]
    assert store.list_deliveries(LOCAL, "s1", count=1) == [early]
    assert store.list_hook_events(LOCAL, "s2") == []


def test_another_owner_sees_nothing(store: SqliteStore) -> None:
    store.add_deliveries(LOCAL, [make("Stop")])
    assert store.list_deliveries(Scope("guest")) == []
    assert store.list_hook_events(Scope("guest"), "s1") == []


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b'{"hook_event_name":1,"session_id":[]}',
        b"\xff",
        b"[" * 5000,
        b'"\\ud800"',
    ],
)
def test_whatever_comes_is_kept_as_it_came(store: SqliteStore, payload: bytes) -> None:
    delivery = build_delivery("d1", 1, payload)
    assert store.add_deliveries(LOCAL, [delivery]) == 1
    [kept] = store.list_deliveries(LOCAL)
    assert kept.payload == payload
    assert (kept.session_id, kept.event_name, kept.label) == ("", "", "Unreadable event")


def test_labels_are_short(store: SqliteStore) -> None:
    label = make("UserPromptSubmit", prompt="x" * 10_000).label
    assert label is not None
    assert len(label) == 200


def test_what_a_forgotten_session_was_told_is_forgotten_and_not_taken_again(store: SqliteStore) -> None:
    batch = make_batch({"s1.jsonl": make_lines(2, session_id="s1")}, session_id="s1")
    store.apply([batch])
    other = replace(make("Stop", 1, "other"), session_id="s2")
    store.add_deliveries(LOCAL, [make("UserPromptSubmit", prompt="secret"), other])
    assert store.forget(LOCAL, [batch.key]).deliveries == 1
    assert store.list_deliveries(LOCAL) == [other]
    assert store.add_deliveries(LOCAL, [make("Stop")]) == 0
    store.lift(LOCAL, [batch.key])
    assert store.add_deliveries(LOCAL, [make("Stop")]) == 1


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
