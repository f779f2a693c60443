"""Live: everybody is told what they may see, as it comes and goes, and the board shows them the same."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from live_client import LiveClient, listening
from team_worlds import Told, World, making_world, name_machine, write_files
from turnlog.store.account_model import TokenKind, UserRole
from turnlog.store.interface import find_sessions
from turnlog.store.lists import MarkChange
from turnlog.store.model import LOCAL, Visibility
from turnlog.transcripts.hooks import build_delivery

BENS = Told(number=1, person="ben", project="web", chosen=Visibility.PRIVATE)
SHARED = Told(number=2, person="ben", project="web", chosen=Visibility.TEAM)


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, sessions = tmp_path_factory.mktemp("world"), (BENS, SHARED)
    write_files(folder / "files", sessions)
    with making_world("sqlite", folder / "home", folder / "files", sessions, ()) as made:
        yield made


def key_of(world: World, told: Told) -> str:
    [stored] = find_sessions(world.store, LOCAL, told.id)
    return stored.key


def bearer(world: World, who: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {world.tokens[who]}"}


def share(world: World, told: Told, visibility: Visibility) -> None:
    world.store.set_visibility(LOCAL, [key_of(world, told)], visibility)
    world.served.app.live.wake()


def star(world: World, told: Told, starred: bool) -> None:
    world.store.mark(LOCAL, [key_of(world, told)], MarkChange(starred=starred))
    world.served.app.live.wake()


def read_kinds(client: LiveClient, until: str) -> list[tuple[str, str]]:
    """Return what is told of sessions up to something."""
    found: list[tuple[str, str]] = []
    for event in client:
        if event.name == "change":
            found.append((event.data["kind"], event.data["session_id"]))
            if event.data["kind"] == until:
                return found
    raise AssertionError(found)


def test_what_is_shared_is_there_and_what_is_not_is_gone(world: World) -> None:
    with listening(world.served, headers=bearer(world, "cleo")) as client:
        client.read("hello")
        star(world, BENS, True)  # hidden: nothing is told
        share(world, BENS, Visibility.TEAM)
        assert read_kinds(client, "session-access")[-2:] == [
            ("session-added", BENS.id),
            ("session-access", BENS.id),
        ]
        share(world, BENS, Visibility.PRIVATE)
        assert read_kinds(client, "session-forgotten") == [("session-forgotten", BENS.id)]
        star(world, BENS, False)
        star(world, SHARED, True)
        assert read_kinds(client, "session-marked") == [("session-marked", SHARED.id)]


def test_its_person_is_told_that_others_see_it(world: World) -> None:
    with listening(world.served, headers=bearer(world, "ben")) as client:
        client.read("hello")
        share(world, BENS, Visibility.TEAM)
        assert read_kinds(client, "session-access") == [("session-access", BENS.id)]


def test_who_comes_again_is_told_what_was_missed_and_may_be_seen(world: World) -> None:
    with listening(world.served, headers=bearer(world, "cleo")) as client:
        last = client.read("hello").id
    star(world, BENS, True)
    star(world, SHARED, True)
    with listening(world.served, last, headers=bearer(world, "cleo")) as client:
        assert read_kinds(client, "session-marked") == [("session-marked", SHARED.id)]


def test_a_stream_ends_with_the_token_or_the_account(world: World) -> None:
    accounts = world.accounts
    accounts.add_user("dora", UserRole.MEMBER)
    token, secret = accounts.create_token("dora", TokenKind.PERSONAL, "test")
    with listening(world.served, headers={"Authorization": f"Bearer {secret}"}) as client:
        client.read("hello")
        accounts.revoke_token(token.id)
        assert list(client) == []
    with listening(world.served, headers=bearer(world, "vera")) as client:
        client.read("hello")
        accounts.disable_user("vera")
        assert list(client) == []


def test_the_board_shows_what_may_be_seen_and_nobody_can_put_anything_into_it(world: World) -> None:
    now = time.time_ns()
    for number, (person, told) in enumerate((("ben", SHARED), ("ben", BENS), ("cleo", SHARED))):
        payload = b'{"hook_event_name":"Notification","notification_type":"permission_prompt",'
        payload += b'"session_id":"%s","message":"by %s"}' % (told.id.encode(), person.encode())
        built = build_delivery(f"{now + number}-{number:08d}", now + number, payload)
        fields = {name: getattr(built, name) for name in built.__struct_fields__}
        world.store.add_deliveries(LOCAL, [type(built)(**fields | {"origin": name_machine(person)})])
    cards = {who: world.get(who, "/api/mission-control").json["sessions"] for who in ("ada", "ben", "vera")}
    assert {card["session_id"] for card in cards["vera"]} == {SHARED.id}
    assert {card["session_id"] for card in cards["ben"]} == {SHARED.id, BENS.id}
    [card] = cards["vera"]
    assert (card["person"], card["host"], card["machine"]) == ("ben", "ben.local", name_machine("ben"))
    details = [each["detail"] for who in cards for each in cards[who] if each["session_id"] == SHARED.id]
    assert details
    assert not any("cleo" in (detail or "") for detail in details)
    assert world.get("vera", "/api/status").json["needs_you"] == 1
    assert world.get("ben", "/api/status").json["needs_you"] == 2


def test_states_are_told_to_those_who_see_the_session(world: World) -> None:
    with listening(world.served, headers=bearer(world, "cleo")) as client:
        client.read("hello")
        now = time.time_ns()
        for number, told in enumerate((BENS, SHARED)):
            payload = b'{"hook_event_name":"UserPromptSubmit","session_id":"%s"}' % told.id.encode()
            built = build_delivery(f"{now + number}-{number:08d}", now + number, payload)
            fields = {name: getattr(built, name) for name in built.__struct_fields__}
            world.store.add_deliveries(LOCAL, [type(built)(**fields | {"origin": name_machine("ben")})])
            world.served.app.live.wake()
        event = client.read("state")
        assert event.data["session_id"] == SHARED.id


def test_answers_are_not_taken_for_somebody_else_s(world: World) -> None:
    path = f"/api/sessions/{SHARED.id}/turns"
    mine = world.get("ben", path)
    assert mine.headers["cache-control"] == "private, no-cache"
    same = {"If-None-Match": mine.headers["etag"]}
    assert world.served.ask("GET", path, {**bearer(world, "ben"), **same}).status == 304
    assert world.served.ask("GET", path, {**bearer(world, "cleo"), **same}).status == 200
    listed = world.get("cleo", "/api/projects")
    star(world, BENS, True)
    known = {"If-None-Match": listed.headers["etag"]}
    assert world.served.ask("GET", "/api/projects", {**bearer(world, "cleo"), **known}).status == 304
