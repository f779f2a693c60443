"""Turns, tree, sidechains, agents, calls and problems of a session."""

from __future__ import annotations

from typing import Any

import pytest

from api_archive import BRANCHES, INLINE, ODD, TOOLS
from server_app import Served
from turnlog.server.messages import build_call_bars
from turnlog.transcripts.segments import CallRecord

DEMO = "aa072ad4-31f7-5518-8b2f-9a742d0ad317"


def ask(api: Served, path: str) -> Any:
    answer = api.get(f"/api/sessions/{path}")
    assert answer.status == 200, answer.body
    return answer.json


def gather(api: Served, path: str, limit: int) -> list[Any]:
    """Return what all pages have."""
    found, cursor = [], "0"
    while cursor is not None:
        page = ask(api, f"{path}{'&' if '?' in path else '?'}limit={limit}&cursor={cursor}")
        found += page["items"]
        cursor = page["next"]
    return found


def test_turns_are_prompts_with_what_answering_took(api: Served) -> None:
    answer = ask(api, f"{TOOLS}/turns")
    assert answer == {
        "items": [
            {
                "index": 0,
                "prompt": 0,
                "prompt_uuid": "700150e0-0000-4000-9000-000000000001",
                "title": "Compare config.json and package.json",
                "messages": 5,
                "calls": 2,
                "agents": 0,
                "files_changed": 0,
                "started_at": "2026-03-01T09:00:01Z",
                "ended_at": "2026-03-01T09:00:07Z",
                "duration_ms": 6000,
                "input_tokens": 40,
                "output_tokens": 400,
                "cost_usd": 0.00612,
                "failed": 1,
                "call_bars": [
                    {"ms": 1000, "failed": False, "category": "builtin"},
                    {"ms": 1000, "failed": True, "category": "builtin"},
                ],
                "edited": False,
            },
            {
                "index": 1,
                "prompt": 5,
                "prompt_uuid": "700150e0-0000-4000-9000-000000000008",
                "title": "Thanks!",
                "messages": 1,
                "calls": 0,
                "agents": 0,
                "files_changed": 0,
                "started_at": "2026-03-01T09:00:08Z",
                "ended_at": "2026-03-01T09:00:08Z",
                "duration_ms": 0,
                "input_tokens": 0,
                "output_tokens": 0,
                "cost_usd": 0.0,
                "failed": 0,
                "call_bars": [],
                "edited": False,
            },
        ],
        "total": 2,
        "next": None,
        "revision": 1,
    }


def test_prompts_that_were_typed_in_the_same_place_are_edited(api: Served) -> None:
    turns = ask(api, f"{BRANCHES}/turns")["items"]
    assert [(turn["prompt"], turn["edited"]) for turn in turns] == [(0, False), (2, True), (4, True)]


def make_call(category: str, state: str, started: int, ended: int | None) -> CallRecord:
    place = {"index": 0, "id": None, "name": "Tool", "line": 0, "block": 0}
    return CallRecord(**place, category=category, state=state, started=started, ended=ended)  # type: ignore[arg-type]


def test_a_strip_has_few_bars_and_loses_no_failure() -> None:
    calls = [
        make_call("mcp" if at == 150 else "builtin", "failed" if at == 77 else "resolved", 0, at * 1000)
        for at in range(151)
    ]
    bars = build_call_bars(calls)
    assert (len(bars), sum(bar.failed for bar in bars)) == (60, 1)
    assert [bar.ms for bar in bars][-1] == 150 == max(bar.ms or 0 for bar in bars)
    assert bars[-1].category == "mcp"
    assert [bar.ms for bar in build_call_bars(calls[:3])] == [0, 1, 2]
    assert build_call_bars([make_call("agent", "unresolved", 5, None)])[0].ms is None
    assert build_call_bars([]) == ()


def test_the_tree_says_which_message_follows_which(api: Served) -> None:
    answer = ask(api, f"{BRANCHES}/tree")
    assert answer == {
        "parents": [None, 0, 1, 2, 1, 4],
        "first": 0,
        "total": 6,
        "branches": [
            {"index": 0, "first": 0, "last": 1, "parent": None, "messages": 2, "active": True},
            {"index": 1, "first": 2, "last": 3, "parent": 1, "messages": 2, "active": False},
            {"index": 2, "first": 4, "last": 5, "parent": 1, "messages": 2, "active": True},
        ],
        "revision": 1,
    }
    window = ask(api, f"{BRANCHES}/tree?first=2&limit=3")
    assert (window["parents"], window["first"], window["total"]) == ([1, 2, 1], 2, 6)
    assert window["branches"] == answer["branches"]
    messages = ask(api, f"{BRANCHES}/messages")["items"]
    assert [message["parent"] for message in messages] == answer["parents"]


def test_sidechains_are_what_was_done_for_what_was_said(api: Served) -> None:
    answer = ask(api, f"{TOOLS}/sidechains")
    assert answer == {
        "items": [
            {
                "message": 1,
                "message_uuid": "700150e0-0000-4000-9000-000000000002",
                "title": "I'll read both files.",
                "operations": 2,
                "failed": 1,
                "duration_ms": 3000,
                "categories": {"builtin": 2},
            }
        ],
        "total": 1,
        "next": None,
        "revision": 1,
    }
    [group] = answer["items"]
    opened = ask(api, f"{TOOLS}/sidechains/{group['message_uuid']}")
    assert [(call["title"], call["state"]) for call in opened["items"]] == [
        ("config.json", "resolved"),
        ("package.json", "failed"),
    ]
    assert [call["result"]["text"] for call in opened["items"]] == ['{"port": 3000}', "no such file"]
    assert gather(api, f"{TOOLS}/sidechains/{group['message_uuid']}", 1) == opened["items"]


def test_what_agents_do_in_the_transcript_is_not_done_for_the_main_conversation(api: Served) -> None:
    [group] = ask(api, f"{INLINE}/sidechains")["items"]
    assert (group["title"], group["categories"]) == ("I send somebody.", {"agent": 1})


def test_an_agent_is_known_by_its_call(api: Served) -> None:
    answer = ask(api, f"{INLINE}/agents")
    assert len(answer["items"][0].pop("call_source")) == 32
    assert answer == {
        "items": [
            {
                "index": 0,
                "id": "a1b2c3d",
                "type": "Explore",
                "description": None,
                "state": "done",
                "depth": 1,
                "inline": True,
                "background": False,
                "parent_id": None,
                "run_id": None,
                "source": None,
                "call": 0,
                "linked_by": "result",
            }
        ],
        "total": 1,
        "next": None,
        "revision": 1,
    }


def test_calls_are_listed_with_or_without_their_bodies(api: Served) -> None:
    plain = ask(api, f"{INLINE}/calls")
    told = ask(api, f"{INLINE}/calls?bodies=true")
    assert [(call["name"], call["title"], call["input"]) for call in plain["items"]] == [
        ("Task", "", None),
        ("Grep", "", None),
    ]
    assert [(call["name"], call["title"], call["result"]["text"]) for call in told["items"]] == [
        ("Task", "Explore", "It is x.py."),
        ("Grep", "x", "x.py"),
    ]
    extra = ("uuid", "title", "input", "result")
    assert plain["items"] == [{**call, **dict.fromkeys(extra), "title": ""} for call in told["items"]], (
        "all else is the same"
    )


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["Task", "Grep"]),
        ("?category=agent", ["Task"]),
        ("?category=agent&category=builtin", ["Task", "Grep"]),
        ("?state=resolved&name=Grep", ["Grep"]),
        ("?state=failed&state=rejected", []),
        ("?name=Nothing", []),
        ("?source=nothing", []),
    ],
)
def test_calls_are_filtered(api: Served, query: str, names: list[str]) -> None:
    answer = ask(api, f"{INLINE}/calls{query}")
    assert ([call["name"] for call in answer["items"]], answer["total"]) == (names, len(names))


def test_calls_of_agents_come_behind_those_of_the_transcript(api: Served) -> None:
    sessions = [each["key"] for each in api.get("/api/sessions").json["items"] if each["agents"]]
    for key in sessions:
        calls = ask(api, f"{key}/calls")["items"]
        sources = [call["source"] for call in calls]
        assert sources == sorted(sources, key=lambda source: (source != key, source))
        for source in set(sources):
            own = [call for call in calls if call["source"] == source]
            assert [call["index"] for call in own] == list(range(len(own)))
            assert ask(api, f"{key}/calls?source={source}")["items"] == own
    assert len(sessions) >= 2


@pytest.mark.parametrize("path", ["turns", "sidechains", "calls", "calls?bodies=true", "problems", "agents"])
@pytest.mark.parametrize("session", [DEMO, ODD, INLINE])
def test_pages_have_everything_once(api: Served, session: str, path: str) -> None:
    whole = ask(api, f"{session}/{path}")["items"]
    for limit in (1, 2, 5):
        assert gather(api, f"{session}/{path}", limit) == whole


def test_problems_say_what_is_wrong_where(api: Served) -> None:
    items = ask(api, f"{ODD}/problems")["items"]
    found = [(each["line"], each["kind"], each["message"]) for each in items]
    assert [each for each in found if each[1] != "bad-text"] == [
        (3, "malformed", 'Expected `"`, found `b` - at $ (byte 1)'),
        (4, "malformed", "Expected a JSON object, found an invalid character - at $ (byte 1)"),
        (5, "unknown-field", "Expected a field of AssistantEntry, found `model` - at $.model (byte 644)"),
        (5, "unknown-type", "Expected a known `type`, found `hologram` - at $.message.content[0] (byte 334)"),
        (8, "unknown-type", "Expected a known `type`, found `something-new` - at $.type (byte 8)"),
    ]
    assert found[0] == (0, "bad-text", "Expected text, found a lone surrogate `\\ud83d` - at $ (byte 237)")
    assert found[-2] == (7, "bad-text", "Expected UTF-8, found byte 0xe9 - at $ (byte 69)")
    assert {each["path"].rpartition("/")[2] for each in items} == {f"{ODD}.jsonl"}


@pytest.mark.parametrize("part", ["turns", "tree", "sidechains", "agents", "calls", "problems", "messages"])
def test_a_session_that_is_not_there_has_no_parts(api: Served, part: str) -> None:
    answer = api.get(f"/api/sessions/nothing-like-that/{part}")
    assert (answer.status, answer.json) == (
        404,
        {"error": {"code": "not_found", "message": "There is no such session"}},
    )


@pytest.mark.parametrize(
    ("path", "status", "where"),
    [
        ("turns?limit=0", 422, ["limit"]),
        ("turns?cursor=-1", 422, ["cursor"]),
        ("turns?cursor=x", 422, ["cursor"]),
        ("tree?limit=10001", 422, ["limit"]),
        ("tree?first=99999999999999999999", 422, ["first"]),
        ("calls?state=unknown", 422, ["state"]),
        ("calls?category=unknown", 422, ["category"]),
        ("calls?bodies=perhaps", 422, ["bodies"]),
        ("agents?limit=5001", 422, ["limit"]),
        ("problems?limit=201", 422, ["limit"]),
        ("sidechains/nobody", 404, []),
        ("sidechains/700150e0-0000-4000-9000-000000000001", 404, []),
    ],
)
def test_what_makes_no_sense_is_said(api: Served, path: str, status: int, where: list[str]) -> None:
    answer = api.get(f"/api/sessions/{TOOLS}/{path}")
    assert (answer.status, isinstance(answer.code, str)) == (status, True)
    assert [each["where"] for each in answer.json["error"].get("details", [])] == where
