"""Who sees a session, who may say so, rules for projects, and deleting for good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server_app import Answer
from team_worlds import Told, World, making_world, name_machine, write_files
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import find_sessions
from turnlog.store.model import LOCAL, Visibility
from turnlog.transcripts import locate_sessions

BENS, SHARED, CLEOS = (
    Told(number=1, person="ben", project="web", hooks=1),
    Told(number=2, person="ben", project="shop", chosen=Visibility.TEAM),
    Told(number=3, person="cleo", project="web"),
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    sessions = (BENS, SHARED, CLEOS)
    write_files(tmp_path / "files", sessions)
    with making_world("sqlite", tmp_path / "home", tmp_path / "files", sessions, ()) as made:
        yield made


def ask(world: World, who: str, method: str, path: str, body: Any = None) -> Answer:
    headers = {"Authorization": f"Bearer {world.tokens[who]}", "Content-Type": "application/json"}
    return world.served.ask(method, path, headers, None if body is None else json.dumps(body).encode())


def list_ids(world: World, who: str, query: str = "") -> list[str]:
    return sorted(each["session_id"] for each in world.get(who, f"/api/sessions{query}").json["items"])


def key_of(world: World, told: Told) -> str:
    [stored] = find_sessions(world.store, LOCAL, told.id)
    return stored.key


def test_a_person_shares_a_session_and_takes_it_back(world: World) -> None:
    assert list_ids(world, "cleo") == [SHARED.id, CLEOS.id]
    path = f"/api/sessions/{BENS.id}/access"
    told = ask(world, "ben", "PUT", path, {"visibility": "team"})
    assert (told.status, told.json["visibility"], told.json["chosen"]) == (200, "team", "team")
    assert (told.json["person"], told.json["host"], told.json["may_change"]) == ("ben", "ben.local", True)
    assert list_ids(world, "cleo") == [BENS.id, SHARED.id, CLEOS.id]
    seen = ask(world, "cleo", "GET", path).json
    assert (seen["may_change"], seen["links"]) == (False, [])
    assert ask(world, "ben", "PUT", path, {"visibility": None}).json["chosen"] is None
    assert ask(world, "cleo", "GET", path).status == 404
    actions = [
        each["action"]
        for each in ask(world, "ben", "GET", "/api/audit?session=" + key_of(world, BENS)).json["entries"]
    ]
    assert actions.count("visibility-changed") == 2


def test_others_can_neither_change_nor_tell_what_is_hidden(world: World) -> None:
    shared, hidden = f"/api/sessions/{SHARED.id}/access", f"/api/sessions/{CLEOS.id}/access"
    assert ask(world, "cleo", "PUT", shared, {"visibility": "private"}).status == 403
    absent = ask(world, "ben", "PUT", "/api/sessions/ffffffffffff/access", {"visibility": "team"})
    refused = ask(world, "ben", "PUT", hidden, {"visibility": "team"})
    assert (refused.status, refused.body) == (absent.status, absent.body)
    assert ask(world, "vera", "PUT", shared, {"visibility": "private"}).status == 403
    keys = [key_of(world, told) for told in (BENS, SHARED, CLEOS)]
    changed = ask(world, "ben", "POST", "/api/access", {"keys": keys, "visibility": "team"})
    assert changed.json == {"changed": [key_of(world, BENS)]}


def test_addresses_answer_by_their_former_names_and_say_the_new_ones(world: World) -> None:
    wanted = {"pattern": "web", "visibility": "team"}
    former = ask(world, "ada", "POST", "/api/rules/weigh", wanted)
    assert former.json == ask(world, "ada", "POST", "/api/rules/preview", wanted).json
    assert former.headers["warning"] == '299 - "this address is now /api/rules/preview"'
    path = f"/api/sessions/{key_of(world, BENS)}"
    former, today = (ask(world, "ben", "GET", f"{path}/{name}") for name in ("weight", "deletion-preview"))
    assert former.json == today.json
    assert former.headers["link"] == f'<{path}/deletion-preview>; rel="successor-version"'
    assert not {"warning", "link"} & today.headers.keys()
    assert ask(world, "cleo", "GET", f"{path}/weight").status == 404


def test_rules_are_set_by_admins_and_previewed_before(world: World) -> None:
    wanted = {"pattern": "web", "visibility": "team"}
    assert ask(world, "ben", "PUT", "/api/rules", wanted).status == 403
    assert ask(world, "ada", "POST", "/api/rules/preview", wanted).json == {"sessions": 2}
    assert ask(world, "vera", "GET", "/api/rules").json == []
    assert ask(world, "ada", "PUT", "/api/rules", wanted).json == {"sessions": 2}
    assert ask(world, "vera", "GET", "/api/rules").json == [wanted]
    assert list_ids(world, "vera") == [BENS.id, SHARED.id, CLEOS.id]
    assert ask(world, "ada", "PUT", "/api/rules", {**wanted, "visibility": None}).json == {"sessions": 2}
    assert list_ids(world, "vera") == [SHARED.id]


def test_lists_tell_whose_sessions_are_and_find_them_by_it(world: World) -> None:
    [item] = world.get("cleo", "/api/sessions?person=me").json["items"]
    assert (item["session_id"], item["person"], item["visibility"]) == (CLEOS.id, "cleo", "private")
    assert list_ids(world, "ada", "?person=ben") == [BENS.id, SHARED.id]
    assert list_ids(world, "ada", "?person=ben&person=cleo&visibility=team") == [SHARED.id]
    assert list_ids(world, "ada", f"?machine={item['machine']}") == [CLEOS.id]
    facets = world.get("cleo", "/api/sessions/facets").json
    assert facets["persons"] == [{"name": "ben", "sessions": 1}, {"name": "cleo", "sessions": 1}]
    found = world.get("cleo", "/api/search?q=asked person:me".replace(" ", "%20")).json["items"]
    assert {hit["session_id"] for hit in found} == {CLEOS.id}


def test_deleting_removes_it_for_good_and_says_what_is_left(world: World, tmp_path: Path) -> None:
    world.store.back_up(tmp_path / "copy.db")
    key, path = key_of(world, BENS), f"/api/sessions/{BENS.id}"
    assert ask(world, "cleo", "DELETE", path).status == 404
    assert ask(world, "cleo", "DELETE", f"/api/sessions/{SHARED.id}").status == 403
    assert ask(world, "ben", "DELETE", f"/api/sessions/{BENS.id[:10]}").status in (409, 422)
    made = ask(world, "ben", "POST", "/api/links", {"session": BENS.id, "days": 1}).json
    weighed = ask(world, "ben", "GET", f"{path}/deletion-preview").json
    gone = ask(world, "ben", "DELETE", path)
    assert gone.status == 200
    assert (gone.json["sessions"], gone.json["links"], gone.json["deliveries"]) == (1, 1, 1)
    assert gone.json["bytes"] == weighed["bytes"] > 0
    assert [each["path"] for each in gone.json["backups"]] == ["copy.db"]
    assert world.served.ask("GET", f"{made['path']}/api/me").status == 404
    assert ask(world, "ben", "GET", path).status == 404
    entries = ask(world, "ben", "GET", f"/api/audit?session={key}&action=forgotten").json["entries"]
    assert [(each["who"], each["person"]) for each in entries] == [("ben", "ben")]
    assert [each.key for each in world.store.list_tombstones(LOCAL)] == [key]
    found = locate_sessions([tmp_path / "files" / "ben"]).sessions
    sync(world.store, tmp_path / "home" / "turnlog.db", found, origin=name_machine("ben"), workers=1)
    assert list_ids(world, "ben") == [SHARED.id]  # what its machine still has does not bring it back
    for file in (tmp_path / "home").rglob("turnlog.db*"):
        assert BENS.secret.encode() not in file.read_bytes()
