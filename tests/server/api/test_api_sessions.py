"""`/api/projects`, `/api/sessions`, and marks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api_archive import COPIED, HOMELESS, ODD, TOOLS, fill
from server_app import Answer, Served, serving
from turnlog.ingest.pipeline import sync
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with an archive of its own, which is written."""
    home = tmp_path_factory.mktemp("marked")
    store = open_store(home / "turnlog.db")
    fill(store, home / "turnlog.db", home / "claude")
    with serving(home / "home", store=store) as running:
        yield running
    store.close()


def change(api: Served, session: str, body: Any) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {**api.bearer, "Content-Type": "application/json"}
    return api.ask("PATCH", f"/api/sessions/{session}/marks", headers, data)


def test_projects_are_listed_with_what_they_used(api: Served) -> None:
    answer = api.get("/api/projects?sort=name").json
    names = [(each["path"], each["name"], each["sessions"]) for each in answer["items"]]
    assert names == [
        ("-home-ada-nowhere", "-home-ada-nowhere", 1),
        ("-home-ada-odd", "-home-ada-odd", 1),
        ("/home/ada/odd", "odd", 7),
        ("/home/ada/other", "other", 1),
        ("/home/robin/code/field-notes", "field-notes", 2),
        ("/home/robin/code/harbor-api", "harbor-api", 3),
        ("/home/robin/code/orchard", "orchard", 3),
    ]
    assert answer["total"] == 7
    assert answer["items"][3] == {
        "path": "/home/ada/other",
        "name": "other",
        "sessions": 1,
        "only_here": 0,
        "archived": 0,
        "prompts": 1,
        "answers": 1,
        "input_tokens": 10,
        "output_tokens": 100,
        "cost_usd": 0.00153,
        "unpriced": 0,
        "first_at": "2026-03-01T09:00:01Z",
        "last_at": "2026-03-01T09:00:02Z",
    }


def test_projects_come_in_pages(api: Served) -> None:
    whole, found, cursor = api.get("/api/projects").json["items"], [], "0"
    while cursor is not None:
        page = api.get(f"/api/projects?limit=3&cursor={cursor}").json
        found += page["items"]
        cursor = page["next"]
    assert found == whole
    assert [each["name"] for each in api.get("/api/projects?text=ORCH").json["items"]] == ["orchard"]


def test_a_session_in_the_list(api: Served) -> None:
    [session] = api.get("/api/sessions?text=package.json").json["items"]
    assert len(session.pop("key")) == 32
    assert session == {
        "session_id": TOOLS,
        "session_id_alias": TOOLS,
        "revision": 1,
        "title": "Compare config.json and package.json",
        "first_prompt": "Compare config.json and package.json",
        "project": "/home/ada/odd",
        "git_branch": "main",
        "models": ["claude-sonnet-4-5"],
        "messages": 6,
        "prompts": 2,
        "answers": 4,
        "calls": 2,
        "errors": 1,
        "agents": 0,
        "lines": 8,
        "problems": 0,
        "input_tokens": 40,
        "output_tokens": 400,
        "cost_usd": 0.00612,
        "created_at": "2026-03-01T09:00:01Z",
        "last_at": "2026-03-01T09:00:08Z",
        "duration_ms": 7000,
        "present": True,
        "only_here": False,
        "state": None,
        "marks": {"name": None, "tags": [], "starred": False, "archived": False, "note": None},
        "person": None,
        "machine": "test",
        "visibility": "private",
        "series": None,
        "alike": 1,
    }


@pytest.mark.parametrize("sort", ["newest", "oldest", "title", "cost", "duration", "messages", "tokens"])
@pytest.mark.parametrize("limit", [1, 4, 17])
def test_pages_have_every_session_once(api: Served, sort: str, limit: int) -> None:
    whole = api.get(f"/api/sessions?sort={sort}").json
    found, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/api/sessions?sort={sort}&limit={limit}{cursor and f'&cursor={cursor}'}").json
        assert page["total"] == whole["total"] == 18
        found += page["items"]
        cursor = page["next"]
    assert found == whole["items"]
    assert len({each["key"] for each in found}) == 18


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("project=/home/ada/odd", 7),
        ("project=/home/ada", 0),
        ("text=HELLO", 3),
        ("model=haiku", 2),
        ("branch=faster", 1),
        ("tag=none", 0),
        ("starred=true", 0),
        ("starred=false", 18),
        ("archived=true", 0),
        ("only_here=true", 0),
        ("errors=true&project=/home/ada/odd", 1),
        ("problems=true&project=/home/ada/odd", 1),
        ("until=2026-03-01T09:00:01.500Z", 9),
        ("since=2026-03-01T09:00:08&until=2026-03-01T10:00:00%2B00:00", 2),
        ("since=2026-03-04", 4),
        ("since=2027-01-01", 0),
    ],
)
def test_lists_are_filtered(api: Served, query: str, count: int) -> None:
    answer = api.get(f"/api/sessions?{query}").json
    assert (answer["total"], len(answer["items"])) == (count, count)


def test_facets_count_what_is_filtered(api: Served) -> None:
    facets = api.get("/api/sessions/facets").json
    assert facets["tags"] == []
    counts = [each["sessions"] for each in facets["models"]]
    assert counts == sorted(counts, reverse=True) != []
    for model in facets["models"]:
        assert api.get(f"/api/sessions?model={model['name']}").json["total"] >= model["sessions"]
    odd = api.get("/api/sessions/facets?project=/home/ada/odd").json
    assert odd == {
        "models": [{"name": "claude-sonnet-4-5", "sessions": 7}],
        "tags": [],
        "branches": [{"name": "main", "sessions": 7}],
        "persons": [{"name": "", "sessions": 7}],
        "machines": [{"name": "test", "sessions": 7}],
    }
    again = api.get("/api/sessions/facets")
    assert api.get("/api/sessions/facets", If_None_Match=again.headers["etag"]).status == 304
    assert api.get("/api/sessions/facets?since=tea").code == "invalid_request"
    assert api.get(f"/api/sessions/facets?text={'x' * 501}").code == "invalid_request"
    assert api.get(f"/api/sessions/facets?{'&'.join(f'tag={n}' for n in range(21))}").code == "invalid_request"


def test_facets_count_tags(marked: Served) -> None:
    change(marked, ODD, {"add_tags": ["sorted", "both"]})
    change(marked, TOOLS, {"add_tags": ["both"]})
    tags = marked.get("/api/sessions/facets").json["tags"]
    change(marked, ODD, {"remove_tags": ["sorted", "both"]})
    change(marked, TOOLS, {"remove_tags": ["both"]})
    assert tags == [{"name": "both", "sessions": 2}, {"name": "sorted", "sessions": 1}]


def test_a_session_is_found_by_its_key_its_id_and_how_they_begin(api: Served) -> None:
    key = api.get(f"/api/sessions/{TOOLS}").json["session"]["key"]
    for name in (key, key[:12], TOOLS, TOOLS[:8]):
        assert api.get(f"/api/sessions/{name}").json["session"]["session_id"] == TOOLS


def test_a_session_at_a_glance(api: Served) -> None:
    answer = api.get(f"/api/sessions/{TOOLS}").json
    assert answer["resume"] == f"cd /home/ada/odd && claude --resume {TOOLS}"
    assert answer["path"].endswith(f"/projects/-home-ada-odd/{TOOLS}.jsonl")
    assert answer["messages"] == 6
    assert answer["summary"]["counts"]["failed_calls"] == 1


def test_a_session_that_does_not_say_where_it_worked_is_resumed_without(api: Served) -> None:
    answer = api.get(f"/api/sessions/{HOMELESS}").json
    assert answer["session"]["project"] == "-home-ada-nowhere"
    assert answer["resume"] == f"claude --resume {HOMELESS}"


def test_a_file_whose_name_is_no_text_is_a_session_like_any_other(api: Served) -> None:
    [session] = api.get("/api/sessions?text=Who%20am%20I").json["items"]
    assert session["session_id"] == "caf\ufffd-not-utf-8"
    answer = api.get(f"/api/sessions/{session['key']}").json
    assert answer["path"].endswith("/caf\ufffd-not-utf-8.jsonl")
    assert answer["resume"] is None
    assert api.get(f"/api/sessions/{session['key']}/messages").json["items"][0]["content"] == "Who am I?"


def test_copies_are_told_apart_by_their_keys(api: Served) -> None:
    answer = api.get(f"/api/sessions/{COPIED}/messages")
    assert (answer.status, answer.code) == (409, "ambiguous")
    keys = [each["message"] for each in answer.json["error"]["details"]]
    projects = [api.get(f"/api/sessions/{key}").json["session"]["project"] for key in keys]
    assert sorted(projects) == ["/home/ada/odd", "/home/ada/other"]


@pytest.mark.parametrize(
    ("path", "status", "where"),
    [
        ("sessions?cursor=bad", 422, ["cursor"]),
        ("sessions?cursor=WyJjb3N0IiwxLCJrIl0", 422, ["cursor"]),
        ("sessions?sort=beauty", 422, ["sort"]),
        ("sessions?since=yesterday", 422, ["since"]),
        ("sessions?limit=501", 422, ["limit"]),
        ("sessions?" + "&".join(["tag=a"] * 21), 422, ["tag"]),
        ("projects?sort=beauty", 422, ["sort"]),
        ("sessions/abc", 404, []),
        ("sessions/nothing-like-that", 404, []),
        ("sessions/%2e%2e%2fetc", 400, []),
        ("sessions/nothing-like-that/marks", 405, []),
    ],
)
def test_what_makes_no_sense_is_said(api: Served, path: str, status: int, where: list[str]) -> None:
    answer = api.get(f"/api/{path}")
    assert (answer.status, isinstance(answer.code, str)) == (status, True)
    assert [each["where"] for each in answer.json["error"].get("details", [])] == where


def test_what_a_session_does_is_told_while_it_is_new(tmp_path: Path) -> None:
    config, place = tmp_path / "claude", tmp_path / "turnlog.db"
    transcript = config / "projects" / "-home-ada-tea" / f"{TOOLS}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes(_say("user", "Which tea?"))
    with closing(open_store(place)) as store, serving(tmp_path / "home", store=store) as api:
        sync(store, place, locate_sessions([config]).sessions, origin="test")
        first = api.get("/api/sessions")
        [session] = first.json["items"]
        assert session["state"] == api.get(f"/api/sessions/{TOOLS}").json["session"]["state"] == "working"
        assert api.get("/api/sessions", If_None_Match=first.headers["etag"]).status == 304
        counts = api.get("/api/status").json
        assert (counts["working"], counts["needs_you"]) == (1, 0)


def _say(kind: str, text: str) -> bytes:
    line = {"type": kind, "uuid": text, "sessionId": TOOLS, "timestamp": datetime.now(UTC).isoformat()}
    return json.dumps(line | {"message": {"role": kind, "content": text}}).encode() + b"\n"


def test_marks_are_changed_and_listed(marked: Served) -> None:
    body = {"name": "The comparison", "note": "Two\nlines", "starred": True, "add_tags": ["b", "a", "a"]}
    expected = {
        "name": "The comparison",
        "tags": ["a", "b"],
        "starred": True,
        "archived": False,
        "note": "Two\nlines",
    }
    before = marked.get("/api/sessions")
    answer = change(marked, TOOLS, body)
    assert (answer.status, answer.json) == (200, expected)
    assert marked.get("/api/sessions", If_None_Match=before.headers["etag"]).status == 200
    [listed] = marked.get("/api/sessions?tag=a&tag=b&starred=true").json["items"]
    assert (listed["session_id"], listed["title"], listed["marks"]) == (TOOLS, "The comparison", expected)
    answer = change(marked, TOOLS, {"name": None, "remove_tags": ["a"], "archived": True})
    assert answer.json == {**expected, "name": None, "tags": ["b"], "archived": True}
    assert [each["session_id"] for each in marked.get("/api/sessions?archived=true").json["items"]] == [TOOLS]
    assert marked.get("/api/sessions").json["total"] == 17


def test_nothing_is_changed_by_nothing(marked: Served) -> None:
    before = marked.get(f"/api/sessions/{ODD}").json["session"]["marks"]
    assert change(marked, ODD, {}).json == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[]", 422),
        (b"null", 422),
        ({"name": 1}, 422),
        ({"name": "x" * 201}, 422),
        ({"name": "a\u202eb"}, 422),
        ({"note": "x" * 10_001}, 422),
        ({"starred": None}, 422),
        ({"starred": "yes"}, 422),
        ({"starred": "true"}, 422),
        ({"starred": 1}, 422),
        ({"add_tags": "abc"}, 422),
        ({"add_tags": ["two words"]}, 422),
        ({"add_tags": [f"t{number}" for number in range(101)]}, 422),
        ({"colour": "red"}, 422),
    ],
)
def test_bad_marks_change_nothing(marked: Served, body: Any, status: int) -> None:
    before = marked.get("/api/status").json["last_change"]
    answer = change(marked, ODD, body)
    assert (answer.status, isinstance(answer.code, str)) == (status, True)
    assert marked.get("/api/status").json["last_change"] == before


def test_marks_of_no_session(marked: Served) -> None:
    assert change(marked, "nothing-like-that", {"starred": True}).status == 404
    assert change(marked, COPIED, {"starred": True}).status == 409
