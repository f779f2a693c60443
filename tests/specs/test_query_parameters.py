"""A parameter that a route does not know is refused, with those that it has: a slip must not go unnoticed."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from server_app import Served, serving
from turnlog.ingest.pipeline import sync
from turnlog.server.app import build_schema
from turnlog.store.opening import open_store
from turnlog.testing import make_line
from turnlog.transcripts import locate_sessions

SESSION = "one-session"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("asked")
    path = place / "claude" / "projects" / "-home-ada-project" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(make_line(0, session_id=SESSION))
    store = open_store(place / "turnlog.db")
    sync(store, place / "turnlog.db", locate_sessions([place / "claude"]).sessions, origin="test")
    with serving(place, store=store) as running:
        yield running
    store.close()


def test_an_unknown_parameter_is_refused_with_those_there_are(served: Served) -> None:
    answer = served.get(f"/api/sessions/{SESSION}/actions?state=failed")
    assert answer.status == 400
    assert answer.json == {
        "error": {
            "code": "unknown_parameter",
            "message": "There is no parameter `state` here. This address takes category, cursor, limit, "
            "min_ms, name, outcome, sort",
            "details": [{"where": "state", "message": "There is no parameter `state` here"}],
        }
    }


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        (f"/api/sessions/{SESSION}/actions?outcomes=failed", "outcome"),
        (f"/api/sessions/{SESSION}/messages?lanes=main", "lane"),
        (f"/api/sessions/{SESSION}/calls?call_state=done", "state"),
        ("/api/sessions?Sort=title", "sort"),
        ("/api/sessions?only-here=true", "only_here"),
        ("/api/usage?time_zone=UTC", "timezone"),
        ("/api/export?id=one&form=md", "format"),
    ],
)
def test_a_near_miss_is_answered_with_what_was_probably_meant(served: Served, path: str, hint: str) -> None:
    answer = served.get(path)
    assert (answer.status, answer.code) == (400, "unknown_parameter")
    [detail] = answer.json["error"]["details"]
    assert detail["message"].endswith(f" here (did you mean `{hint}`?)")
    assert answer.json["error"]["message"].startswith(detail["message"])


def test_all_that_are_unknown_are_named(served: Served) -> None:
    answer = served.get("/api/search?q=x&foo=1&limit=2&foo=2&bar=")
    assert answer.status == 400
    assert [each["where"] for each in answer.json["error"]["details"]] == ["foo", "bar"]


def test_a_route_without_parameters_says_so(served: Served) -> None:
    answer = served.get("/api/health?verbose=1")
    assert answer.status == 400
    assert (
        answer.json["error"]["message"]
        == "There is no parameter `verbose` here. This address takes no parameters"
    )


@pytest.mark.parametrize(
    "name", ["%ff%fe", quote("\u202e\0"), "x" * 5000, quote("\ud83d".encode("utf-8", "surrogatepass"))]
)
def test_odd_names_are_refused_like_any_other(served: Served, name: str) -> None:
    answer = served.get(f"/api/health?{name}=1")
    assert (answer.status, answer.code) == (400, "unknown_parameter")
    assert len(answer.body) < 1000


def test_every_route_refuses_what_its_schema_does_not_have(served: Served) -> None:
    asked = 0
    for path, methods in build_schema(served.app.api)["paths"].items():
        for method in methods:
            address = path
            for parameter in methods[method].get("parameters", []):
                if parameter["in"] == "path":
                    address = address.replace(f"{{{parameter['name']}}}", "0")
            answer = served.ask(method.upper(), f"{address}?surely_unknown=1", served.bearer)
            if path == "/api/login/callback":  # providers of logins add what they like
                assert answer.status == 404
                continue
            assert (answer.status, answer.code) == (400, "unknown_parameter"), (method, path)
            asked += 1
    assert asked > 60


def test_whoever_is_not_let_in_learns_nothing_of_parameters(served: Served) -> None:
    assert served.ask("GET", "/api/sessions?surely_unknown=1").status == 401
