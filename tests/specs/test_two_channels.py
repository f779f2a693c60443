"""Spec 002: where SessionEnd and the progress of agents stand, and what Stop means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reader_views import ask, write_002
from server_app import Served, serving
from turnlog.ingest.pipeline import sync
from turnlog.server.session_states import Column, Evidence, SessionState, to_listed_state
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.agent_status import AgentPhase, WaitReason
from turnlog.transcripts.hooks import HookDelivery, find_rule

SESSION = "/api/sessions/session-002"
CALL = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"description": "Look", "prompt": "Find uses"}}
NESTED = {"type": "tool_use", "id": "x", "name": "Grep", "input": {"pattern": "uses"}}
LINES: tuple[dict[str, Any], ...] = (
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}},
    {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": [CALL]}},
    {
        "type": "progress", "uuid": "p1", "toolUseID": "agent_1", "parentToolUseID": "t1",
        "data": {
            "type": "agent_progress", "agentId": "a77", "prompt": "Find uses",
            "message": {"type": "assistant", "message": {"role": "assistant", "content": [NESTED]}},
        },
    },
)  # fmt: skip
BEGIN = 1_771_754_400_000_000_000
"""The time of the first line, in nanoseconds."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("channels")
    folder = home / "claude" / "projects" / "-home-ada-app"
    folder.mkdir(parents=True)
    write_002(folder, LINES)
    store = open_store(home / "turnlog.db")
    sync(store, home / "turnlog.db", locate_sessions([home / "claude"]).sessions, origin="test")
    store.add_deliveries(
        LOCAL,
        [
            _deliver(1, "UserPromptSubmit"),
            _deliver(2, "PreToolUse", tool_use_id="t1", tool_name="Task"),
            _deliver(3, "SessionEnd"),
        ],
    )
    with serving(home / "home", store=store) as running:
        yield running
    store.close()


def _deliver(second: int, name: str, **fields: Any) -> HookDelivery:
    return HookDelivery(
        delivery_id=f"{BEGIN + second}-1",
        received_ns=BEGIN + second * 1_000_000_000,
        session_id="session-002",
        event_name=name,
        payload=b"{}",
        **fields,
    )


def test_the_end_of_a_session_is_no_event_of_any_view(server: Served) -> None:
    events = [event["eventName"] for event in ask(server, f"{SESSION}/hook-events")]
    timeline = ask(server, f"{SESSION}/timeline")["items"]
    actions = ask(server, f"{SESSION}/actions")
    assert events == ["UserPromptSubmit", "PreToolUse"]
    assert {item["hook"]["event_name"] for item in timeline if item["kind"] == "hook"} == set(events)
    assert "SessionEnd" not in [item["name"] for item in actions["items"]]
    assert "SessionEnd" not in actions["names"]


def test_the_end_of_a_session_still_ends_what_was_running(server: Served) -> None:
    [call] = [item for item in ask(server, f"{SESSION}/actions")["items"] if item["kind"] == "call"]
    assert call["state"] == "unresolved"


def test_progress_of_an_agent_is_an_action_of_category_agent(server: Served) -> None:
    found = ask(server, f"{SESSION}/actions?category=agent")["items"]
    assert [(item["kind"], item["name"], item["title"]) for item in found] == [
        ("call", "Task", "Look"),
        ("event", "agent_progress", "Agent a77: Grep uses"),
    ]
    assert found[1]["message"] == 1


def test_stop_means_that_it_needs_you_and_the_board_has_a_column_for_turns_that_ended() -> None:
    assert find_rule("Stop", None).group == "needs_you"
    state = SessionState(
        phase=AgentPhase.NEEDS_YOU, why=WaitReason.TURN_ENDED, since_ns=1, evidence=Evidence.HOOKS, seen_ns=1
    )
    assert (state.column, to_listed_state(state).value) == (Column.DONE, "done")


def test_the_docs_explain_that_column(pytestconfig: pytest.Config) -> None:
    docs = (pytestconfig.rootpath / "docs" / "guide.md").read_text()
    assert "A finished turn has a column of its own" in " ".join(docs.split())


def test_hook_events_of_a_deleted_file_are_unchanged(tmp_path: Path) -> None:
    """Without any line, only what hooks told is there; the end of the session is not."""
    store = open_store(tmp_path / "turnlog.db")
    store.add_deliveries(LOCAL, [_deliver(1, "SessionStart"), _deliver(2, "SessionEnd")])
    with store.open_session(LOCAL, "session-002", hooks="session-002") as session:
        under = session.list_hooks_under(session.main, (), above=True)
    assert [hook.event_name for _, hook in under.hooks] == ["SessionStart"]
    store.close()
