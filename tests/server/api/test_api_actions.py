"""The action log: every call and event, in one order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hooked_session import AGENT, HEARD, HOOKED, fill_heard, fill_hooked
from server_app import Served, serving
from turnlog.store.opening import open_store


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with one session that files and hooks tell of."""
    home = tmp_path_factory.mktemp("acted")
    store = open_store(home / "turnlog.db")
    fill_hooked(store, home / "turnlog.db", home / "claude")
    fill_heard(store)
    with serving(home / "home", store=store) as running:
        yield running
    store.close()


def ask(served: Served, query: str = "") -> Any:
    answer = served.get(f"/api/sessions/{HOOKED}/actions{query}")
    assert answer.status == 200, answer.body
    return answer.json


def gather(served: Served, query: str, limit: int) -> list[Any]:
    """Return what all pages have."""
    found: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = ask(served, f"?limit={limit}{query}{cursor}")
        found += page["items"]
        cursor = None if page["next"] is None else f"&cursor={page['next']}"
    return found


def names(items: list[Any]) -> list[str]:
    return [item["name"] for item in items]


EVERYTHING = [
    # what tells of it, sort, name, title, outcome, state, milliseconds, turn, message
    ("hook", "hook", "SessionStart", "./greet.sh", "ok", "note", None, None, None),
    ("hook", "hook", "UserPromptSubmit", "Fix the tests", "", "note", None, None, 0),
    ("event", "snapshot", "file-history-snapshot", "b.py", "1 file kept", "note", None, 0, None),
    ("call", "builtin", "Read", "a.py", "ok", "ok", 1000, 0, 2),
    ("hook", "hook", "PreToolUse", "./check.sh", "ok", "note", 250, 0, 2),
    ("hook", "hook", "PostToolUse", "./types.sh", "exit 2", "failed", 400, 0, 2),
    ("call", "builtin", "Bash", "pytest -x", "exit 1", "failed", 5000, 0, 4),
    ("hook", "error", "PostToolUseFailure", "", "", "note", None, 0, 4),
    ("event", "hook", "PostToolUse", "PostToolUse", "blocked", "failed", None, 0, 5),
    ("event", "queue", "enqueue", "and the docs", "", "note", None, 0, 6),
    ("call", "agent", "Agent", 'prompt="Go"', "ok", "ok", 12000, 0, 7),
    ("event", "error", "api_error", "ECONNRESET", "retry 1 of 10", "failed", None, 0, 8),
    ("hook", "hook", "SubagentStart", "Agent started", "", "note", None, 0, 8),
    ("call", "builtin", "Grep", "def", "ok", "ok", 1000, 0, 1),
    ("hook", "hook", "PreToolUse", "", "", "note", None, 0, 1),
    ("hook", "hook", "Notification", "", "", "note", None, 0, 1),
    ("hook", "hook", "SubagentStop", "", "", "note", None, 0, 8),
    ("hook", "hook", "Stop", "./bell.sh", "", "note", 30, 0, 9),
    ("call", "builtin", "Bash", "rm -rf build", "waits for you", "waiting", None, 1, 11),
    ("hook", "hook", "PreToolUse", "", "", "note", None, 1, 11),
    ("hook", "hook", "PermissionRequest", "", "", "note", None, 1, 11),
]
FIELDS = ("kind", "category", "name", "title", "outcome", "state", "duration_ms", "turn", "message")


def test_calls_hook_events_and_other_events_come_in_one_order(hooked: Served) -> None:
    page = ask(hooked)
    assert [tuple(item[field] for field in FIELDS) for item in page["items"]] == EVERYTHING
    assert [item["index"] for item in page["items"]] == list(range(len(EVERYTHING)))
    assert {name: page[name] for name in ("total", "next", "counts", "failed", "revision")} == {
        "total": 21,
        "next": None,
        "counts": {"agent": 1, "builtin": 4, "error": 2, "hook": 12, "queue": 1, "snapshot": 1},
        "failed": 4,
        "revision": 1,
    }


def test_all_names_are_counted_whatever_is_asked_for(hooked: Served) -> None:
    names = ask(hooked)["names"]
    assert (names["Bash"], names["Grep"], names["PreToolUse"], names["api_error"]) == (2, 1, 3, 1)
    assert sum(names.values()) == len(EVERYTHING)
    assert ask(hooked, "?name=Grep&limit=1")["names"] == names


def test_a_session_that_only_hooks_told_of_has_actions(hooked: Served) -> None:
    answer = hooked.get(f"/api/sessions/{HEARD}/actions")
    assert answer.status == 200, answer.body
    assert [(item["kind"], item["name"], item["message"]) for item in answer.json["items"]] == [
        ("hook", "SessionStart", None),
        ("hook", "UserPromptSubmit", None),
    ]
    assert (answer.json["total"], answer.json["revision"]) == (2, 0)
    assert hooked.get("/api/sessions/nobody-knows-it/actions").status == 404


def test_an_action_says_where_it_stands(hooked: Served) -> None:
    items = ask(hooked)["items"]
    backwards, inner = items[10], items[13]
    assert len(backwards.pop("source")) == 32
    assert backwards == {
        "index": 10,
        "kind": "call",
        "category": "agent",
        "at": "2026-04-01T09:00:08Z",
        "name": "Agent",
        "title": 'prompt="Go"',
        "outcome": "ok",
        "state": "ok",
        "duration_ms": 12000,
        "turn": 0,
        "message": 7,
        "message_uuid": "main-13",
        "call": 2,
        "agent_id": None,
    }
    assert (inner["call"], inner["agent_id"], inner["message_uuid"]) == (0, AGENT, f"{AGENT}-2")
    assert inner["source"] != items[3]["source"] == items[4]["source"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("category=queue&category=snapshot", ["file-history-snapshot", "enqueue"]),
        ("category=mcp", []),
        ("outcome=failed", ["PostToolUse", "Bash", "PostToolUse", "api_error"]),
        ("outcome=waiting", ["Bash"]),
        ("outcome=running&outcome=unresolved", []),
        ("outcome=ok", ["Read", "Agent", "Grep"]),
        ("name=Bash", ["Bash", "Bash"]),
        ("name=PreToolUse&outcome=note", ["PreToolUse"] * 3),
        ("min_ms=1000", ["Read", "Bash", "Agent", "Grep"]),
        ("min_ms=250&category=hook", ["PreToolUse", "PostToolUse"]),
        ("sort=slowest", ["Agent", "Bash", "Read", "Grep", "PostToolUse", "PreToolUse", "Stop"]),
        ("sort=slowest&category=hook&outcome=failed", ["PostToolUse"]),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_only_what_is_asked_for_is_there(hooked: Served, query: str, expected: list[str], limit: int) -> None:
    found = gather(hooked, f"&{query}", limit)
    assert names(found) == expected
    assert [item["index"] for item in found] == list(range(len(expected)))
    page = ask(hooked, f"?{query}")
    assert page["counts"]["hook"] == 12
    assert page["failed"] == 4
    assert page["total"] == len(expected)


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_pages_together_are_the_whole(hooked: Served, limit: int) -> None:
    assert gather(hooked, "", limit) == ask(hooked)["items"]


def test_the_overview_says_what_happened_when(hooked: Served) -> None:
    overview = ask(hooked)["overview"]
    assert len(overview) <= 120
    assert sum(span["actions"] for span in overview) == 21
    assert sum(span["failed"] for span in overview) == 4
    assert overview[0] == {
        "from": "2026-04-01T09:00:00.100000Z",
        "to": "2026-04-01T09:00:00.359167Z",
        "actions": 1,
        "failed": 0,
    }
    assert overview[-1]["to"] > "2026-04-01T09:00:31.2"


@pytest.mark.parametrize("cursor", ["x", "W10=", "WzEsWzEsMSwiIiwxLDFdXQ==", "bnVsbA==", "%C3%A9"])
def test_a_cursor_of_nobody_is_refused(hooked: Served, cursor: str) -> None:
    answer = hooked.get(f"/api/sessions/{HOOKED}/actions?cursor={cursor}")
    assert (answer.status, answer.code) == (422, "invalid_request")


def test_a_session_without_hooks_has_the_actions_of_its_files(api: Served) -> None:
    answer = api.get("/api/sessions/700150e0-0000-4000-8000-000000000008/actions")
    assert answer.status == 200
    assert [(item["title"], item["state"], item["outcome"]) for item in answer.json["items"]] == [
        ("config.json", "ok", "ok"),
        ("package.json", "failed", "no such file"),
    ]
    assert api.get("/api/sessions/nobody/actions").status == 404
