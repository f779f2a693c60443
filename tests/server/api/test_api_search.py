"""`/api/search`: hits with their exact messages, errors with their places, and an end for who is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from api_archive import TOOLS
from server_app import PATIENCE, Served, serving
from turnlog.errors import SearchCancelledError
from turnlog.store.interface import MaintainedStore


def ask(api: Served, query: str, more: str = "") -> Any:
    answer = api.get(f"/api/search?q={quote(query)}{more}")
    assert answer.status == 200, answer.body
    return answer.json


def test_a_hit_leads_to_its_message(api: Served) -> None:
    answer = ask(api, "comparison")
    [hit] = answer["items"]
    key = hit.pop("session")
    assert hit.pop("source") == key
    assert hit == {
        "kind": "answer",
        "session_id": TOOLS,
        "project": "/home/ada/odd",
        "title": "Compare config.json and package.json",
        "message": 4,
        "message_uuid": "700150e0-0000-4000-9000-000000000007",
        "call": None,
        "tool": None,
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "agent_id": None,
        "is_error": False,
        "created_at": "2026-03-01T09:00:07Z",
        "snippet": "Here is the comparison.",
        "marks": [{"start": 12, "end": 22}],
    }
    assert (answer["next"], answer["unreadable"]) == (None, 0)
    window = api.get(f"/api/sessions/{key}/messages?around={hit['message_uuid']}&limit=1").json
    assert window["items"][0]["content"] == "Here is the comparison."


def test_a_hit_in_a_result_leads_to_its_call(api: Served) -> None:
    [hit] = ask(api, '"no such file" is:error session:700150e0')["items"]
    assert (hit["kind"], hit["tool"], hit["call"], hit["message"]) == ("tool-output", "Read", 1, 3)
    assert hit["is_error"]


@pytest.mark.parametrize("order", ["newest", "relevance"])
def test_pages_have_every_hit_once(api: Served, order: str) -> None:
    whole = ask(api, "the", f"&limit=100&order={order}")["items"]
    found: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = ask(api, "the", f"&limit=3&order={order}{cursor and f'&cursor={quote(cursor)}'}")
        found += page["items"]
        cursor = page["next"]
    assert found == whole
    assert len(found) > 6


def test_the_last_word_may_go_on_while_somebody_types(api: Served) -> None:
    assert ask(api, "compariso")["items"] == []
    assert len(ask(api, "compariso", "&typing=true")["items"]) == 1


@pytest.mark.parametrize(
    ("query", "where", "at"),
    [
        ("?q=%22open", "q", 0),
        ("?q=a%20colour:red", "q", 2),
        ("?q=after:someday", "q", 6),
        ("?q=", "q", None),
        ("?q=" + "x" * 5000, "q", None),
        ("", "q", None),
        ("?q=x&limit=101", "limit", None),
        ("?q=x&order=beauty", "order", None),
        ("?q=x&cursor=bad", "cursor", None),
    ],
)
def test_what_is_no_query_is_said_with_its_place(api: Served, query: str, where: str, at: int | None) -> None:
    answer = api.get(f"/api/search{query}")
    assert (answer.status, answer.code) == (422, "invalid_request")
    [detail] = answer.json["error"]["details"]
    assert detail["where"] == where
    assert detail.get("at") == at


class Endless:
    """A store that searches until it is told to stop."""

    def __init__(self, store: MaintainedStore) -> None:
        self._store = store
        self.began = threading.Event()
        self.ended = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def search(self, *_: Any, cancelled: Callable[[], bool], **__: Any) -> Any:
        self.began.set()
        while not cancelled():
            self.ended.wait(0.01)
        self.ended.set()
        raise SearchCancelledError("stopped")


@pytest.fixture
def endless(archive: MaintainedStore, tmp_path: Path) -> Iterator[tuple[Endless, Served]]:
    store: Any = Endless(archive)
    with serving(tmp_path, store=store) as running:
        yield store, running


def test_a_search_ends_when_whoever_asked_is_gone(endless: tuple[Endless, Served]) -> None:
    store, served = endless
    with served.connect() as connection:
        head = f"GET /api/search?q=x HTTP/1.1\r\nHost: {served.host}\r\n"
        connection.sendall(f"{head}Authorization: Bearer {served.keeper.token}\r\n\r\n".encode())
        assert store.began.wait(PATIENCE)
        assert not store.ended.is_set()
    assert store.ended.wait(PATIENCE)


def test_a_search_that_takes_too_long_is_ended(
    endless: tuple[Endless, Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnlog.server.routes.sessions._PATIENCE", 0.05)
    store, served = endless
    answer = served.get("/api/search?q=x")
    assert (answer.status, answer.code) == (503, "too_slow")
    assert store.ended.is_set()
