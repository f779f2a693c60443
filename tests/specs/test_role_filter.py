"""Spec 003: results are messages of their own, and `/messages?role=tool_result` lists them as such."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from api_archive import Writer
from server_app import Served, serving
from stored_documents import call_text, document, joined
from turnlog.ingest.pipeline import sync
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions

CALLS = "ca115000-0000-4000-8000-000000000001"
STORED = "stored-1"
MANY = "ca115000-0000-4000-8000-000000000003"


def block(id: str, name: str = "Read") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {"file_path": "/tea"}}


def write_calls() -> bytes:
    """Two calls at once, answered by two lines; a call with text; one that is never answered."""
    writer = Writer(CALLS)
    writer.user("Look at both")
    writer.answer(block("t0"), block("t1"))
    writer.result("t0", "kettle")
    writer.result("t1", "pot", failed=True)
    writer.answer({"type": "text", "text": "And now the lid."}, block("t2"))
    writer.result("t2", [{"type": "text", "text": "lid"}])
    writer.answer({"type": "text", "text": "Waiting."}, block("t3"))
    writer.result("elsewhere", "of a call that is not here")
    return writer.data


def write_stored() -> bytes:
    held = {"content": [block("t0")]}
    found = [
        document("user", "u", None),
        document("assistant", "a", "u", message=held),
        document("tool_use", "a_tool_0", "a", content=call_text(id="t0")),
        document("tool_result", "a_result_0", "a_tool_0", content="80"),
    ]
    return joined({**each, "sessionId": STORED} for each in found)


def write_many() -> bytes:
    writer = Writer(MANY)
    writer.user("Look at all")
    for number in range(250):
        writer.answer({"type": "text", "text": f"{number}"}, block(f"m{number}"))
        writer.result(f"m{number}", f"result {number}")
        writer.answer({"type": "text", "text": "so"})
    return writer.data


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("roles")
    folder = home / "claude" / "projects" / "-tea"
    folder.mkdir(parents=True)
    for name, data in ((CALLS, write_calls()), (STORED, write_stored()), (MANY, write_many())):
        (folder / f"{name}.jsonl").write_bytes(data)
    place = home / "archive.db"
    with closing(open_store(place)) as store, serving(home / "home", store=store) as running:
        sync(store, place, locate_sessions([home / "claude"]).sessions, origin="test")
        yield running


def ask(served: Served, session: str, query: str) -> Any:
    answer = served.get(f"/api/sessions/{session}/messages?{query}")
    assert answer.status == 200, answer.body
    return answer.json


def test_the_results_of_calls_are_listed(served: Served) -> None:
    items = ask(served, CALLS, "role=tool_result")["items"]
    line = "ca115000-0000-4000-9000-00000000000"
    assert [(each["uuid"], each["parent_uuid"], each["content"]) for each in items] == [
        (f"{line}2_result_0", f"{line}2_tool_0", "kettle"),
        (f"{line}2_result_1", f"{line}2_tool_1", "pot"),
        (f"{line}5_result_1", f"{line}5_tool_1", "lid"),
        (f"{line}8", f"{line}7", "of a call that is not here"),
    ]
    for each in items:
        assert (each["type"], each["role"], each["is_sidechain"]) == ("tool_result", "tool_result", True)
    assert items[0]["_id"] == items[0]["uuid"]
    assert [each["index"] for each in items] == [1, 1, 2, 4]


def test_a_stored_result_has_its_own_name(served: Served) -> None:
    [found] = ask(served, STORED, "role=tool_result")["items"]
    assert (found["uuid"], found["parent_uuid"], found["content"]) == ("a_result_0", "a_tool_0", "80")


def test_other_roles_are_what_they_were(served: Served) -> None:
    assert [each["index"] for each in ask(served, CALLS, "role=tool_use")["items"]] == [1]
    assert [each["role"] for each in ask(served, CALLS, "")["items"]] == [
        "user",
        "tool_use",
        "assistant",
        "assistant",
        "tool_result",
    ]


def test_several_roles_come_together_in_order(served: Served) -> None:
    items = ask(served, CALLS, "role=tool_result&role=assistant")["items"]
    assert [(each["index"], each["role"]) for each in items] == [
        (1, "tool_result"),
        (1, "tool_result"),
        (2, "assistant"),
        (2, "tool_result"),
        (3, "assistant"),
        (4, "tool_result"),
    ]


def test_a_result_is_in_the_lane_of_tools(served: Served) -> None:
    assert len(ask(served, CALLS, "role=tool_result&lane=tool")["items"]) == 4
    assert ask(served, CALLS, "role=tool_result&lane=main")["items"] == []
    assert ask(served, CALLS, "role=tool_result&category=hook")["items"] == []


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_windows_of_results_have_each_once(served: Served, limit: int) -> None:
    expected = [f"result {number}" for number in range(250)]
    found: list[str] = []
    after = "-1"
    while after is not None:
        window = ask(served, MANY, f"role=tool_result&limit={limit}&after={after}")
        assert 0 < len(window["items"]) <= limit
        found += [each["content"] for each in window["items"]]
        after = window["after"]
    assert found == expected
    found, before = [], "100000"
    while before is not None:
        window = ask(served, MANY, f"role=tool_result&limit={limit}&before={before}")
        found = [each["content"] for each in window["items"]] + found
        before = window["before"]
    assert found == expected


def test_a_window_around_a_result_has_it(served: Served) -> None:
    [one] = [
        each
        for each in ask(served, MANY, "role=tool_result&limit=200")["items"]
        if each["content"] == "result 120"
    ]
    window = ask(served, MANY, f"role=tool_result&limit=5&around={one['uuid']}")
    assert one in window["items"]
    assert len(window["items"]) == 5


def test_the_results_of_one_message_stand_in_one_window(served: Served) -> None:
    window = ask(served, CALLS, "role=tool_result&limit=1")
    assert [each["content"] for each in window["items"]] == ["kettle", "pot"]
    assert json.dumps(ask(served, CALLS, f"role=tool_result&limit=1&after={window['after']}")["items"]).count(
        "lid"
    )
