"""`/api/sessions/{id}/messages`: what a message is made of, and how windows go on."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api_archive import BRANCHES, IMAGES, INLINE, ODD, OFFLOADED, TOOLS
from server_app import Served, serving
from turnlog.ingest.pipeline import sync
from turnlog.server.values import choose_range
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions

DEMO = "aa072ad4-31f7-5518-8b2f-9a742d0ad317"
"""A sample session."""


def ask(api: Served, session: str, query: str = "") -> Any:
    answer = api.get(f"/api/sessions/{session}/messages{query}")
    assert answer.status == 200, answer.body
    return answer.json


def pick(items: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(item[name] for name in names) for item in items]


def test_a_message_has_the_fields_of_spec_003_and_their_aliases(api: Served) -> None:
    message = ask(api, TOOLS)["items"][1]
    key = message.pop("source")
    assert len(key) == 32
    assert message == {
        "_id": "700150e0-0000-4000-9000-000000000002",
        "index": 1,
        "uuid": "700150e0-0000-4000-9000-000000000002",
        "message_uuid": "700150e0-0000-4000-9000-000000000002",
        "parent_uuid": "700150e0-0000-4000-9000-000000000001",
        "parent_uuid_alias": "700150e0-0000-4000-9000-000000000001",
        "source_parent_uuid": "700150e0-0000-4000-9000-000000000001",
        "session_id": TOOLS,
        "session_id_alias": TOOLS,
        "type": "assistant",
        "rule": "answer",
        "role": "assistant",
        "types": ["assistant"],
        "author": "claude",
        "lane": "main",
        "is_sidechain": False,
        "category": None,
        "agent_id": None,
        "parent": 0,
        "branch": 0,
        "active": True,
        "turn": 0,
        "created_at": "2026-03-01T09:00:02Z",
        "timestamp": "2026-03-01T09:00:02Z",
        "model": "claude-sonnet-4-5",
        "permission_mode": None,
        "aborted": False,
        "compaction": None,
        "usage": {
            "input_tokens": 10,
            "output_tokens": 100,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        },
        "cost_usd": 0.00153,
        "content": "I'll read both files.",
        "blocks": [{"kind": "text", "text": "I'll read both files.", "truncated": False}],
        "lines": 1,
        "folded": 0,
        "problems": 0,
    }


def test_parents_skip_lines_that_only_carry_results(api: Served) -> None:
    def short(uuid: str | None) -> int | None:
        return None if uuid is None else int(uuid[-3:])

    found = [
        (short(item["uuid"]), short(item["parent_uuid"]), short(item["source_parent_uuid"]))
        for item in ask(api, TOOLS)["items"]
    ]
    # Lines 4 and 6 are results: they are with their calls.
    assert found == [(1, None, None), (2, 1, 1), (3, 2, 2), (5, 3, 4), (7, 5, 6), (8, 7, 7)]


def test_a_call_is_told_with_its_result(api: Served) -> None:
    items = ask(api, TOOLS)["items"]
    assert pick(items, "type", "lane", "is_sidechain", "folded")[2:4] == [("assistant", "tool", True, 1)] * 2
    [block] = items[3]["blocks"]
    call = block["call"]
    assert block["kind"] == "call"
    assert call.pop("source") == items[3]["source"]
    assert call == {
        "index": 1,
        "uuid": "700150e0-0000-4000-9000-000000000005_tool_0",
        "id": "toolu_b",
        "name": "Read",
        "category": "builtin",
        "state": "failed",
        "title": "package.json",
        "path": "/home/ada/odd/package.json",
        "changes_file": False,
        "message": 3,
        "agent_id": None,
        "started_at": "2026-03-01T09:00:05Z",
        "ended_at": "2026-03-01T09:00:06Z",
        "duration_ms": 1000,
        "input": {"file_path": "/home/ada/odd/package.json"},
        "result": {
            "text": "no such file",
            "truncated": False,
            "length": 12,
            "is_error": True,
            "images": [],
            "offloaded": None,
            "details": None,
        },
    }


def test_all_that_is_odd_is_shown(api: Served) -> None:
    items = ask(api, ODD)["items"]
    assert pick(items, "type", "rule", "content", "problems")[:5] == [
        ("user", "prompt", "Half an emoji \ufffd and a null \x00", 2),
        ("assistant", "answer", "First.", 1),
        ("user", "prompt", "Second, on the same line", 0),
        ("system", "unknown", "{broken", 1),
        ("system", "unknown", "not JSON at all", 1),
    ]
    unknown, call = items[5]["blocks"]
    assert unknown == {
        "kind": "other",
        "type": "hologram",
        "json": {"type": "hologram", "data": "unknown \ufffd"},
    }
    assert (call["call"]["name"], call["call"]["id"]) == ("Ba\ufffdsh", "toolu_odd \ufffd")
    assert call["call"]["input"] == {"command": "echo \ufffd"}
    assert call["call"]["result"]["details"] == {"stdout": "out \ufffd"}
    assert pick(items, "uuid", "content")[6] == ("bytes", "caf\ufffd")
    assert items[7]["content"].startswith('{"type":"something-new"')
    assert items[8]["parent"] == 5


def test_images_are_told_by_where_their_bytes_are(api: Served) -> None:
    asked, looked, elsewhere = ask(api, IMAGES)["items"]
    assert [block["kind"] for block in asked["blocks"]] == ["text", "image", "image"]
    kinds = [block["image"]["media_type"] for block in asked["blocks"][1:]]
    assert kinds == ["image/png", "application/octet-stream"], "an SVG is no picture here"
    [image] = looked["blocks"][1]["call"]["result"]["images"]
    assert image["media_type"] == "image/webp"
    assert elsewhere["blocks"][1] == {
        "kind": "other",
        "type": "image",
        "json": {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    }, "nobody is made to fetch what is somewhere else"


def test_a_result_in_a_file_of_its_own_is_told_by_its_name_alone(api: Served) -> None:
    [block] = ask(api, OFFLOADED)["items"][1]["blocks"]
    offloaded = block["call"]["result"]["offloaded"]
    assert (offloaded["name"], offloaded["size"]) == ("toolu_long.txt", 158890)
    assert offloaded["href"].startswith("/api/sessions/")


def test_an_agent_that_speaks_in_the_transcript_has_its_own_messages(api: Served) -> None:
    whole, own = ask(api, INLINE), ask(api, INLINE, "?agent=a1b2c3d")
    assert pick(own["items"], "index", "lane", "agent_id") == [
        (2, "agent", "a1b2c3d"),
        (3, "agent", "a1b2c3d"),
        (4, "agent", "a1b2c3d"),
    ]
    assert own["total"] == whole["total"] == 6
    assert own["items"] == [item for item in whole["items"] if item["lane"] == "agent"]
    assert ask(api, INLINE, "?lane=agent")["items"] == own["items"]


def test_an_agent_with_a_file_has_a_chapter_of_its_own(api: Served) -> None:
    sessions = api.get("/api/sessions").json["items"]
    session = next(each["key"] for each in sessions if each["agents"] and each["session_id"] != INLINE)
    agent = api.get(f"/api/sessions/{session}/agents").json["items"][0]
    by_agent = ask(api, session, f"?agent={agent['id']}")
    assert by_agent == ask(api, session, f"?source={agent['source']}")
    assert {item["source"] for item in by_agent["items"]} == {agent["source"]}
    first = by_agent["items"][0]
    # A uuid is found wherever it is, unless a file is given.
    assert ask(api, session, f"?around={first['uuid']}")["items"] == by_agent["items"]
    assert api.get(f"/api/sessions/{session}/messages?around={first['uuid']}&source={session}").status == 404


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ("?lane=tool", [2, 3]),
        ("?lane=main&lane=tool", [0, 1, 2, 3, 4, 5]),
        ("?role=user", [0, 5]),
        ("?role=assistant&role=tool_use", [1, 2, 3, 4]),
        ("?category=system", []),
        ("?branch=0&role=user", [0, 5]),
        ("?branch=7", []),
        ("?active=true&limit=2", [0, 1]),
        ("?active=false", []),
        ("?around=0&limit=1", [0]),
        ("?around=3&limit=3", [2, 3, 4]),
        ("?around=3&limit=2", [2, 3]),
        ("?around=end&limit=2", [4, 5]),
        ("?around=999&limit=2", [4, 5]),
        ("?around=700150e0-0000-4000-9000-000000000005&limit=1", [3]),
        ("?around=3&limit=2&role=user", [0, 5]),
        ("?before=2", [0, 1]),
        ("?before=0", []),
        ("?before=9007199254740992&limit=1", [5]),
        ("?after=4", [5]),
        ("?after=-1&limit=1", [0]),
        ("?after=5", []),
        ("?after=9007199254740992", []),
    ],
)
def test_windows_have_what_was_asked_for(api: Served, query: str, indexes: list[int]) -> None:
    assert [item["index"] for item in ask(api, TOOLS, query)["items"]] == indexes


def test_cursors_say_where_more_is(api: Served) -> None:
    def cursors(query: str) -> tuple[str | None, str | None]:
        window = ask(api, TOOLS, query)
        return window["before"], window["after"]

    assert cursors("") == (None, None)
    assert cursors("?limit=2") == (None, "1")
    assert cursors("?around=3&limit=2") == ("2", "3")
    assert cursors("?around=end&limit=2") == ("4", None)
    assert cursors("?role=user&limit=1") == (None, "0")
    assert cursors("?role=user&after=0") == ("5", None)
    assert cursors("?branch=7") == (None, None)
    # Nothing is there, but something is before or behind it.
    assert cursors("?after=5") == ("6", None)
    assert cursors("?before=0") == (None, "-1")
    assert ask(api, TOOLS, "?after=-1")["items"] == ask(api, TOOLS)["items"]


def test_branches_are_told_apart(api: Served) -> None:
    assert pick(ask(api, BRANCHES)["items"], "branch", "active", "parent") == [
        (0, True, None),
        (0, True, 0),
        (1, False, 1),
        (1, False, 2),
        (2, True, 1),
        (2, True, 4),
    ]
    assert [item["content"] for item in ask(api, BRANCHES, "?active=true")["items"]] == [
        "Which tea?",
        "Assam or Darjeeling.",
        "Darjeeling",
        "No milk.",
    ]
    assert [item["content"] for item in ask(api, BRANCHES, "?branch=1")["items"]] == ["Assam", "Milk?"]


FILTERS = [
    "",
    "&lane=main",
    "&lane=tool&lane=agent",
    "&role=assistant",
    "&active=true",
    "&branch=1",
    "&category=mcp",
]


@settings(max_examples=40)
@given(
    session=st.sampled_from([ODD, INLINE, BRANCHES, TOOLS, DEMO]),
    where=st.sampled_from(FILTERS),
    limit=st.integers(1, 7),
    start=st.sampled_from(["", "&around=0", "&around=3", "&around=end", "&after=2", "&before=4"]),
)
def test_windows_in_both_directions_have_everything_once(
    api: Served, session: str, where: str, limit: int, start: str
) -> None:
    whole = ask(api, session, f"?limit=200{where}")["items"]
    window = ask(api, session, f"?limit={limit}{where}{start}")
    found = list(window["items"])
    assert len(found) <= limit
    while (before := ask_on(api, session, window, f"?limit={limit}{where}", "before")) is not None:
        found, window = before["items"] + found, before
    last = ask(api, session, f"?limit={limit}{where}{start}")
    while (after := ask_on(api, session, last, f"?limit={limit}{where}", "after")) is not None:
        found, last = found + after["items"], after
    assert found == whole


def ask_on(api: Served, session: str, window: Any, query: str, direction: str) -> Any:
    cursor = window[direction]
    if cursor is None:
        return None
    following = ask(api, session, f"{query}&{direction}={cursor}")
    assert following["items"], "a cursor leads to something"
    return following


@pytest.mark.parametrize(
    ("query", "status", "code", "where"),
    [
        ("?around=1&before=2", 422, "invalid_request", []),
        ("?source=a&agent=b", 422, "invalid_request", []),
        ("?limit=0", 422, "invalid_request", ["limit"]),
        ("?limit=201", 422, "invalid_request", ["limit"]),
        ("?limit=x", 422, "invalid_request", ["limit"]),
        ("?before=-1", 422, "invalid_request", ["before"]),
        ("?before=99999999999999999999", 422, "invalid_request", ["before"]),
        ("?after=-2", 422, "invalid_request", ["after"]),
        ("?lane=sideways", 422, "invalid_request", ["lane"]),
        ("?role=nobody", 422, "invalid_request", ["role"]),
        ("?category=x", 422, "invalid_request", ["category"]),
        ("?branch=-1", 422, "invalid_request", ["branch"]),
        ("?active=perhaps", 422, "invalid_request", ["active"]),
        ("?around=" + "x" * 201, 422, "invalid_request", ["around"]),
        ("?around=nobody", 404, "not_found", []),
        ("?agent=nobody", 404, "not_found", []),
        ("?source=nothing", 404, "not_found", []),
    ],
)
def test_what_makes_no_sense_is_said(api: Served, query: str, status: int, code: str, where: list[str]) -> None:
    answer = api.get(f"/api/sessions/{TOOLS}/messages{query}")
    assert (answer.status, answer.code) == (status, code)
    assert [each["where"] for each in answer.json["error"].get("details", [])] == where


@given(sizes=st.lists(st.integers(0, 50), min_size=1, max_size=30), most=st.integers(0, 200), data=st.data())
def test_a_stretch_is_as_long_as_it_may_be(sizes: list[int], most: int, data: st.DataObject) -> None:
    anchor = data.draw(st.integers(0, len(sizes) - 1))
    start, end = choose_range(sizes, anchor, most)
    assert start <= anchor < end
    assert sum(sizes[start:end]) <= most or (start, end) == (anchor, anchor + 1)
    for longer in (sizes[start - 1 : end] if start else [], sizes[start : end + 1] if end < len(sizes) else []):
        assert not longer or sum(longer) > most or sizes[anchor] > most


def test_a_window_is_another_when_what_its_answers_cost_is_told_otherwise(tmp_path: Path) -> None:
    config, place = tmp_path / "claude", tmp_path / "turnlog.db"
    with closing(open_store(place)) as store, serving(tmp_path / "home", store=store) as api:

        def write(name: str, message: str, output: int) -> None:
            used = {"input_tokens": 1, "output_tokens": output}
            said = {"id": message, "role": "assistant", "model": "claude-sonnet-4-5", "usage": used}
            line = {
                "type": "assistant",
                "uuid": message,
                "sessionId": name,
                "timestamp": "2026-03-01T09:00:00Z",
            }
            path = config / "projects" / "-home-ada-tea" / f"{name}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(line | {"message": said | {"content": "Assam."}}) + "\n")
            sync(store, place, locate_sessions([config]).sessions, origin="test")

        write("first", "shared", 10)
        before = api.get("/api/sessions/first/messages")
        write("stranger", "another", 10)
        etag = before.headers["etag"]
        assert api.get("/api/sessions/first/messages", If_None_Match=etag).status == 304
        write("second", "shared", 50)
        after = api.get("/api/sessions/first/messages", If_None_Match=etag)
        assert after.status == 200
        assert [each.json["items"][0]["usage"]["output_tokens"] for each in (before, after)] == [10, 50]
        assert after.json["revision"] == before.json["revision"]
