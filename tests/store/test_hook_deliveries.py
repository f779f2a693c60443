"""What hooks were given is kept once, as it came, and told as spec 002 tells it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from turnlog.ingest.hook_facts import build_delivery
from turnlog.store.hooks import HookDelivery, HookEvent
from turnlog.store.identity import LOCAL
from turnlog.store.sqlite import SqliteStore

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
