"""One timeline of what files and hooks tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hooked_session import AGENT, HEARD, HOOKED, fill_heard, fill_hooked
from server_app import Served, serving
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import HookDelivery


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with one session that both tell of."""
    home = tmp_path_factory.mktemp("hooked")
    store = open_store(home / "turnlog.db")
    fill_hooked(store, home / "turnlog.db", home / "claude")
    fill_heard(store)
    with serving(home / "home", store=store) as running:
        yield running
    store.close()


def ask(served: Served, query: str = "") -> Any:
    answer = served.get(f"/api/sessions/{HOOKED}/timeline{query}")
    assert answer.status == 200, answer.body
    return answer.json


def outline(window: Any) -> list[object]:
    """Return the indexes of messages, and what hooks and notes told with the messages that it stands under."""

    def tell(item: Any) -> object:
        match item["kind"]:
            case "message":
                return item["message"]["index"]
            case "hook":
                return item["hook"]["message"], item["hook"]["event_name"]
        return item["note"]["message"], item["note"]["text"]

    return [tell(item) for item in window["items"]]


MAIN = [
    (None, "SessionStart"),  # message 0 tells of the same
    (0, "UserPromptSubmit"),
    1,
    (1, "Snapshot of 1 file: b.py"),
    2,
    (2, "PreToolUse"),
    (2, "PostToolUse"),  # as does message 3
    4,
    (4, "PostToolUseFailure"),
    5,  # a hook that nobody delivered
    6,
    7,
    8,
    (8, "SubagentStart"),
    (8, "SubagentStop"),
    9,
    (9, "Stop"),
    10,
    11,
    (11, "PreToolUse"),
    (11, "PermissionRequest"),
]


def test_hook_events_stand_under_their_calls_and_else_where_they_came(hooked: Served) -> None:
    window = ask(hooked)
    assert outline(window) == MAIN
    assert {name: value for name, value in window.items() if name != "items"} == {
        "total": 12,
        "before": None,
        "after": None,
        "revision": 1,
        "omitted": 0,
    }


def test_a_hook_event_is_told_with_the_commands_that_files_tell_of(hooked: Served) -> None:
    hooks = [item["hook"] for item in ask(hooked)["items"] if item["kind"] == "hook"]
    assert hooks[2] == {
        "id": 3,
        "delivery_id": "d02",
        "at": "2026-04-01T09:00:02.150000Z",
        "event_name": "PreToolUse",
        "tool_name": "Read",
        "label": "PreToolUse",
        "group": "autonomous",
        "context": None,
        "tool_use_id": "toolu_read",
        "agent_id": None,
        "message": 2,
        "commands": [
            {
                "name": "PreToolUse:Read",
                "command": "./check.sh",
                "outcome": "ok",
                "exit_code": 0,
                "duration_ms": 250,
                "output": "fine",
            }
        ],
    }
    assert [hook["context"] for hook in hooks[:2]] == [{"source": "startup"}, None]
    told = {hook["event_name"]: hook["commands"] for hook in hooks if hook["commands"]}
    assert {
        name: [(each["command"], each["outcome"], each["exit_code"], each["output"]) for each in commands]
        for name, commands in told.items()
    } == {
        "SessionStart": [("./greet.sh", "ok", 0, "hello")],
        "PreToolUse": [("./check.sh", "ok", 0, "fine")],
        "PostToolUse": [("./types.sh", "failed", 2, "wrong types")],
        "Stop": [("./bell.sh", None, None, None)],
    }


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_windows_together_have_each_thing_once(hooked: Served, limit: int) -> None:
    found: list[object] = []
    after = "-1"
    while after is not None:
        window = ask(hooked, f"?after={after}&limit={limit}")
        found += outline(window)
        after = window["after"]
    assert found == MAIN
    found, before = [], "12"
    while before is not None:
        window = ask(hooked, f"?before={before}&limit={limit}")
        found = outline(window) + found
        before = window["before"]
    assert found == MAIN


def test_a_sub_agent_has_the_hook_events_of_its_own(hooked: Served) -> None:
    window = ask(hooked, f"?agent={AGENT}")
    assert outline(window) == [0, 1, (1, "PreToolUse"), (1, "Notification"), 2]
    source = window["items"][0]["message"]["source"]
    assert ask(hooked, f"?source={source}") == window


def test_hook_events_are_left_out_with_the_messages_that_they_stand_under(hooked: Served) -> None:
    assert outline(ask(hooked, "?role=user")) == [(None, "SessionStart"), 1, 6, 10]
    assert outline(ask(hooked, "?role=tool_use&around=end&limit=1")) == [
        11,
        (11, "PreToolUse"),
        (11, "PermissionRequest"),
    ]


def test_windows_are_refused_as_those_of_messages_are(hooked: Served) -> None:
    path = f"/api/sessions/{HOOKED}/timeline"
    assert hooked.get(f"{path}?around=0&before=1").status == 422
    assert hooked.get(f"{path}?source=x&agent=y").status == 422
    assert hooked.get(f"{path}?agent=nobody").status == 404
    assert hooked.get("/api/sessions/nobody/timeline").status == 404


def test_of_a_session_without_files_there_is_what_hooks_told(hooked: Served) -> None:
    answer = hooked.get(f"/api/sessions/{HEARD}/timeline")
    assert answer.status == 200, answer.body
    assert outline(answer.json) == [(None, "SessionStart"), (None, "UserPromptSubmit")]
    told = {name: answer.json[name] for name in ("total", "before", "after", "omitted", "revision")}
    assert told == {"total": 0, "before": None, "after": None, "omitted": 0, "revision": 0}
    etag = {**hooked.bearer, "If-None-Match": answer.headers["etag"]}
    assert hooked.ask("GET", f"/api/sessions/{HEARD}/timeline", etag).status == 304
    assert hooked.get(f"/api/sessions/{HEARD[:8]}/timeline").status == 404  # only by its whole id


def test_what_has_not_changed_is_not_sent_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("changing")
    store = open_store(home / "turnlog.db")
    fill_hooked(store, home / "turnlog.db", home / "claude")
    with serving(home / "home", store=store) as served:
        path = f"/api/sessions/{HOOKED}/timeline"
        etag = served.get(path).headers["etag"]
        total = served.get(f"/api/sessions/{HOOKED}/actions").json["total"]
        again = served.ask("GET", path, {**served.bearer, "If-None-Match": etag})
        assert again.status == 304
        late = HookDelivery(
            delivery_id="late", received_ns=1, payload=b"{}", session_id=HOOKED, event_name="Setup"
        )
        store.add_deliveries(LOCAL, [late])
        changed = served.ask("GET", path, {**served.bearer, "If-None-Match": etag})
        assert changed.status == 200
        assert outline(changed.json)[0] == (None, "Setup")
        assert served.get(f"/api/sessions/{HOOKED}/actions").json["total"] == total + 1
    store.close()


def test_too_many_hook_events_are_counted(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("many")
    store = open_store(home / "turnlog.db")
    fill_hooked(store, home / "turnlog.db", home / "claude")
    store.add_deliveries(
        LOCAL,
        [
            HookDelivery(
                delivery_id=f"many-{number}",
                received_ns=number,
                payload=b"",
                session_id=HOOKED,
                event_name="Setup",
            )
            for number in range(1100)
        ],
    )
    with serving(home / "home", store=store) as served:
        window = ask(served)
        hooks = [item for item in window["items"] if item["kind"] == "hook"]
        assert (len(hooks), window["omitted"]) == (1000, 100 + len(MAIN) - 11)
    store.close()
