"""Users, their tokens and their machines, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_app import Answer
from team_server import Team, serving_team
from turnlog.store.account_model import Action, UserRole
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store

MACHINE = "0123456789abcdef" * 2


class People:
    """A team with an admin, a member and a viewer."""

    def __init__(self, team: Team) -> None:
        self.team = team
        roles = {"ada": UserRole.ADMIN, "ben": UserRole.MEMBER, "vera": UserRole.VIEWER}
        self.tokens = {name: team.add(name, role) for name, role in roles.items()}
        self.tokens["operator"] = team.served.keeper.token

    def ask(self, who: str, method: str, path: str, body: object = None) -> Answer:
        return self.team.ask(self.tokens[who], method, path, body)

    @property
    def recorded(self) -> list[tuple[Action, str | None, str | None]]:
        """What was recorded, the oldest first."""
        return [(entry.action, entry.who, entry.person) for entry in reversed(self.team.accounts.list_audit())]


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    with serving_team(tmp_path) as team:
        yield People(team)


def test_admins_make_change_disable_and_enable_users(people: People) -> None:
    made = people.ask("ada", "POST", "/api/users", {"name": "cleo", "email": "cleo@example.org"})
    assert made.status == 201
    assert {**made.json, "created_at": ""} == {
        "name": "cleo",
        "full_name": "",
        "role": "member",
        "email": "cleo@example.org",
        "disabled": False,
        "created_at": "",
        "seen_at": None,
    }
    changed = people.ask("operator", "PATCH", "/api/users/cleo", {"role": "viewer", "full_name": "Cleo C."})
    assert (changed.status, changed.json["role"], changed.json["full_name"]) == (200, "viewer", "Cleo C.")
    assert changed.json["email"] == "cleo@example.org", "what is left out stays"
    assert people.ask("ada", "POST", "/api/users/cleo/disable").json["disabled"] is True
    assert people.ask("ada", "POST", "/api/users/cleo/disable").status == 200
    assert people.ask("ada", "POST", "/api/users/cleo/enable").json["disabled"] is False
    assert people.recorded == [
        (Action.USER_ADDED, "ada", "cleo"),
        (Action.USER_CHANGED, None, "cleo"),
        (Action.USER_DISABLED, "ada", "cleo"),
        (Action.USER_ENABLED, "ada", "cleo"),
    ]


def test_addresses_are_for_admins_and_oneself(people: People) -> None:
    people.team.accounts.change_user("ben", email="ben@example.org")
    for who, sees in (("ada", True), ("operator", True), ("ben", True), ("vera", False)):
        [ben] = [each for each in people.ask(who, "GET", "/api/users").json if each["name"] == "ben"]
        assert (ben["email"] is not None) is sees, who
        assert (ben["seen_at"] is not None) <= sees, who


def test_others_change_their_own_full_name_alone(people: People) -> None:
    assert (
        people.ask("vera", "PATCH", "/api/users/vera", {"full_name": "Vera V."}).json["full_name"] == "Vera V."
    )
    for who, path, body in (
        ("vera", "/api/users/vera", {"role": "admin"}),
        ("ben", "/api/users/ben", {"email": "ada@example.org"}),
        ("ben", "/api/users/vera", {"full_name": "x"}),
        ("ben", "/api/users/nobody", {"full_name": "x"}),
    ):
        refused = people.ask(who, "PATCH", path, body)
        assert (refused.status, refused.code) == (403, "forbidden")


def test_what_makes_no_sense_is_explained(people: People) -> None:
    for body, part in (
        ({"name": "Ben B"}, "lower-case letters"),
        ({"name": "ben"}, "already"),
        ({"name": "x", "email": "no address"}, "e-mail"),
        ({"name": "x", "role": "king"}, ""),
        ({"name": "x", "rolle": "admin"}, ""),
    ):
        refused = people.ask("ada", "POST", "/api/users", body)
        assert (refused.status, refused.code) == (422, "invalid_request")
        assert part in refused.json["error"]["message"]
    assert people.ask("ada", "PATCH", "/api/users/nobody", {}).status == 404
    assert people.ask("ada", "POST", "/api/users/ada/disable").status == 422, "nobody would be left to let in"


def test_tokens_are_made_shown_once_and_revoked(people: People) -> None:
    made = people.ask("ben", "POST", "/api/tokens", {"kind": "machine", "label": "laptop", "days": 30})
    assert made.status == 201
    secret, token = made.json["secret"], made.json["token"]
    assert (token["user"], token["kind"], token["label"], token["origin"]) == ("ben", "machine", "laptop", None)
    assert secret.startswith("tlm_")
    listed = people.ask("ben", "GET", "/api/tokens")
    assert secret not in listed.body.decode()
    assert [each["label"] for each in listed.json] == ["laptop", "test"]
    assert people.ask("ada", "GET", "/api/tokens?user=ben").json[0]["id"] == token["id"]
    assert len(people.ask("operator", "GET", "/api/tokens").json) == 4, "of all"
    assert people.ask("ben", "DELETE", f"/api/tokens/{token['id']}").status == 204
    assert people.ask("ben", "GET", "/api/tokens").json[0]["revoked_at"] is not None
    assert people.recorded == [(Action.TOKEN_CREATED, "ben", "ben"), (Action.TOKEN_REVOKED, "ben", "ben")]
    assert secret not in str(people.team.accounts.list_audit())


def test_tokens_of_others_are_for_admins(people: People) -> None:
    others = people.team.accounts.list_tokens("ada")[0].id
    missing = people.ask("ben", "DELETE", "/api/tokens/0123456789abcdef")
    refused = people.ask("ben", "DELETE", f"/api/tokens/{others}")
    assert (refused.status, refused.body) == (missing.status, missing.body)
    assert refused.status == 404
    assert people.ask("ben", "GET", "/api/tokens?user=ada").status == 403
    assert people.ask("ben", "GET", "/api/tokens?user=nobody").status == 403
    assert people.ask("ben", "POST", "/api/tokens", {"kind": "personal", "user": "ada"}).status == 403
    assert people.ask("vera", "POST", "/api/tokens", {"kind": "personal"}).status == 403
    given = people.ask("ada", "POST", "/api/tokens", {"kind": "personal", "user": "ben"})
    people.tokens["new"] = given.json["secret"]
    assert people.ask("new", "GET", "/api/me").json["name"] == "ben"
    nobodys = people.ask("operator", "POST", "/api/tokens", {"kind": "personal"})
    assert (nobodys.status, nobodys.json["error"]["details"][0]["where"]) == (422, "user")


def test_machines_are_assigned_by_admins(people: People, tmp_path: Path) -> None:
    store = open_store(tmp_path / "turnlog.db")
    try:
        store.save_machine(LOCAL, MACHINE, person="ben", host="box", user="b", at_ns=time.time_ns())
    finally:
        store.close()
    [machine] = people.ask("ben", "GET", "/api/machines").json
    assert (machine["origin"], machine["person"], machine["host"], machine["user"]) == (
        MACHINE,
        "ben",
        "box",
        "b",
    )
    assert people.ask("vera", "GET", "/api/machines").json == []
    assert people.ask("ben", "PUT", f"/api/machines/{MACHINE}", {"person": "ben"}).status == 403
    assert people.ask("ada", "PUT", f"/api/machines/{'f' * 32}", {"person": "ben"}).status == 404
    assert people.ask("ada", "PUT", f"/api/machines/{MACHINE}", {"person": "nobody"}).status == 422
    assert people.ask("ada", "PUT", f"/api/machines/{MACHINE}", {"person": "ada"}).json == {"sessions": 0}
    assert people.ask("ben", "GET", "/api/machines").json == []
    assert people.ask("operator", "PUT", f"/api/machines/{MACHINE}", {"person": None}).status == 200
    assert people.recorded == [
        (Action.MACHINE_ASSIGNED, "ada", "ben"),
        (Action.MACHINE_ASSIGNED, "ada", "ada"),
        (Action.MACHINE_ASSIGNED, None, "ada"),
    ]
