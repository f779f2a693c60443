"""Every look at somebody else's session is recorded before anything of it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server_app import Answer
from team_worlds import Told, World, making_world, write_files
from turnlog.errors import StoreError
from turnlog.server.audit import VISIT_SECONDS, Auditor, ViewedSession
from turnlog.server.errors import RequestError
from turnlog.server.security.callers import OPERATOR, Caller, CallerKind
from turnlog.store.account_model import Action, AuditEntry, TokenKind, User, UserRole
from turnlog.store.accounts import Accounts, open_accounts
from turnlog.store.model import Visibility

SHARED = Told(number=1, person="ben", project="web", chosen=Visibility.TEAM, hooks=1)
PRIVATE = Told(number=2, person="ben", project="web")
HOOKED = Told(number=3, person="ben", project="web", hooks=2, has_file=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, sessions = tmp_path_factory.mktemp("world"), (SHARED, PRIVATE, HOOKED)
    write_files(folder / "files", sessions)
    with making_world("sqlite", folder / "home", folder / "files", sessions, ()) as made:
        yield made


def list_entries(world: World, reader: str, **asked: str) -> list[Any]:
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    found = world.get(reader, f"/api/audit?limit=500&{query}").json["entries"]
    assert isinstance(found, list)
    return found


def list_addresses(world: World) -> list[tuple[str, str]]:
    """Return every address with a session in it, with its method."""
    found = []
    for path, item in (world.served.app.api.openapi_schema.paths or {}).items():
        if path.startswith("/api/sessions/{id}"):
            for method in ("get", "put", "post", "patch", "delete"):
                if getattr(item, method, None) is not None:
                    found.append((method.upper(), path))
    return [*found, ("GET", "/api/export?id={id}"), ("GET", "/api/export/preview?id={id}")]


def test_each_address_of_a_session_records_a_look(world: World) -> None:
    addresses = list_addresses(world)
    assert len(addresses) > 20
    for number, (method, path) in enumerate(addresses):
        who, token = world_user(world, number)
        address = re.sub(r"\{(\w+)\}", lambda part: SHARED.id if part[1] == "id" else "0", path)
        body = b'{"visibility": "team"}' if path.endswith("access") else b"{}"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        answer: Answer = world.served.ask(method, address, headers, None if method == "GET" else body)
        looked = list_entries(world, "ada", who=who, person="ben")
        kinds = {entry["action"] for entry in looked}
        refused = (
            answer.status == 403 and answer.json["error"]["message"] == "This needs the server's own token"
        )
        assert refused or kinds & {"viewed", "exported"}, (method, path, answer.status, answer.body[:200])


def world_user(world: World, number: int) -> tuple[str, str]:
    """Return somebody who has never looked at anything."""
    name = f"member{number}"
    world.accounts.add_user(name, UserRole.MEMBER)
    return name, world.accounts.create_token(name, TokenKind.PERSONAL, "test")[1]


def test_a_visit_is_one_entry_and_its_person_sees_it(world: World) -> None:
    for path in ("", "/messages", "/turns", "/timeline", "/calls"):
        assert world.get("cleo", f"/api/sessions/{SHARED.id}{path}").status == 200
    [entry] = list_entries(world, "ben", who="cleo", action="viewed")
    assert (entry["who"], entry["person"]) == ("cleo", "ben")
    assert list_entries(world, "vera", who="cleo") == []


def test_one_s_own_sessions_and_what_is_hidden_are_not_recorded(world: World) -> None:
    before = len(list_entries(world, "ada", who="ben"))
    assert world.get("ben", f"/api/sessions/{SHARED.id}/messages").status == 200
    assert world.get("cleo", f"/api/sessions/{PRIVATE.id}").status == 404
    assert len(list_entries(world, "ada", who="ben")) == before
    assert all(entry["session"] != PRIVATE.id for entry in list_entries(world, "ada", who="cleo"))


def test_admins_are_recorded_too_also_for_what_only_hooks_told(world: World) -> None:
    assert world.get("ada", f"/api/sessions/{PRIVATE.id}").status == 200
    assert world.get("ada", f"/api/sessions/{HOOKED.id}/timeline").status == 200
    looked = list_entries(world, "ben", who="ada", action="viewed")
    assert HOOKED.id in {entry["session"] for entry in looked}
    assert {entry["person"] for entry in looked} == {"ben"}
    assert len(looked) == 2


def test_what_a_search_shows_is_recorded(world: World) -> None:
    assert world.get("vera", f"/api/search?q={SHARED.secret}").json["items"]
    [entry] = list_entries(world, "ben", who="vera", action="searched")
    assert entry["person"] == "ben"
    assert world.get("vera", f"/api/search?q={PRIVATE.secret}").json["items"] == []


def test_actions_are_asked_for_by_their_former_names_too(world: World) -> None:
    world.get("vera", f"/api/sessions/{SHARED.id}")
    world.get("vera", f"/api/search?q={SHARED.secret}")
    former = world.get("ben", "/api/audit?who=vera&action=looked&action=found")
    today = world.get("ben", "/api/audit?who=vera&action=viewed&action=searched")
    assert former.json == today.json
    assert {entry["action"] for entry in today.json["entries"]} == {"viewed", "searched"}
    address = "/api/audit?who=vera&action=viewed&action=searched"
    assert former.headers["warning"] == f'299 - "this address is now {address}"'
    assert former.headers["link"] == f'<{address}>; rel="successor-version"'
    assert "warning" not in today.headers
    assert world.get("ben", "/api/audit?action=lookedat").status == 422


def test_the_operator_is_not_recorded(world: World) -> None:
    before = world.accounts.list_audit(limit=1)
    assert world.served.get(f"/api/sessions/{PRIVATE.id}").status == 200
    assert world.accounts.list_audit(limit=1) == before


CLEO = Caller(kind=CallerKind.PERSON, user=User(name="cleo", role=UserRole.MEMBER, created_ns=0))


@pytest.fixture
def accounts(tmp_path: Path) -> Iterator[Accounts]:
    made = open_accounts(tmp_path / "turnlog.db")
    yield made
    made.close()


def test_a_visit_ends_after_a_while_without_a_request(accounts: Accounts) -> None:
    now = [0.0]
    audit = Auditor(accounts, clock=lambda: now[0])
    for pause in (0.0, VISIT_SECONDS - 1, VISIT_SECONDS - 1, VISIT_SECONDS + 1):
        now[0] += pause
        audit.record_views(CLEO, [ViewedSession("key", "ben")], Action.VIEWED)
    assert len(accounts.list_audit()) == 2


def test_without_a_record_nothing_is_shown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    who, token = world_user(world, 1000)

    def refuse(entries: list[AuditEntry]) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(world.accounts, "record", refuse)
    answer = world.served.ask("GET", f"/api/sessions/{SHARED.id}", {"Authorization": f"Bearer {token}"})
    assert (answer.status, answer.code) == (503, "not_recorded")
    assert SHARED.secret.encode() not in answer.body
    monkeypatch.undo()
    answer = world.served.ask("GET", f"/api/sessions/{SHARED.id}", {"Authorization": f"Bearer {token}"})
    assert answer.status == 200
    assert list_entries(world, "ada", who=who)


def test_the_operator_needs_no_record() -> None:
    class Broken:
        def record(self, entries: list[AuditEntry]) -> None:
            raise StoreError("the disk is full")

    audit = Auditor(Broken())  # type: ignore[arg-type]
    audit.record_views(OPERATOR, [ViewedSession("key", "ben")], Action.VIEWED)
    with pytest.raises(RequestError):
        audit.record_views(CLEO, [ViewedSession("key", "ben")], Action.VIEWED)
