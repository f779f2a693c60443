"""Whoever asks whatever: it is answered as if there were only what they may see.

Teams are made up at random. For each person there is a second server that has only what this person may see;
all that can be asked is asked of both. What is hidden is asked for by its names: the answer is that to any name
that nobody has.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from typing import Any

import pytest

from live_client import LiveClient, listening
from server_app import Answer
from team_worlds import (
    ENGINES,
    PEOPLE,
    WITH_SESSIONS,
    Project,
    Told,
    World,
    can_see,
    making_world,
    name_machine,
    write_files,
)
from turnlog.store.account_model import UserRole
from turnlog.store.model import LOCAL, Visibility, find_access

TEAMS = int(os.environ.get("TURNLOG_TEAMS", "1"))
"""How many teams each engine has to do with."""
OTHERS = [person for person, role in PEOPLE.items() if role is not UserRole.ADMIN]
COUNTED = frozenset({"seq", "last_change", "next", "at", "created_at", "seen_at", "used_at"})
"""What numbers things as they come, with gaps where something is hidden; when it was asked or made."""
NUMBERED = ("/api/tokens", "/timeline", "/hook-events")
"""Where things are called by such numbers, or by names made up."""
NOBODY = 0xFFFF
"""The number of a session that is not there."""


class Team:
    """A team that was made up."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        choices = (None, None, Visibility.TEAM, Visibility.PRIVATE)
        self.sessions = tuple(
            Told(
                number=number,
                person=self._random.choice(WITH_SESSIONS),
                project=self._random.choice(("web", "shop", "notes")),
                chosen=self._random.choice(choices),
                hooks=self._random.randint(0, 2),
                has_file=self._random.random() < 0.85,
            )
            for number in range(1, 7)
        )
        self.rules = tuple(
            Project(name, self._random.choice(list(Visibility)))
            for name in self._random.sample(("web", "shop"), 1)
        )

    def list_seen(self, who: str) -> list[Told]:
        return [told for told in self.sessions if can_see(who, told, self.rules)]

    def list_hidden(self, who: str) -> list[Told]:
        return [told for told in self.sessions if not can_see(who, told, self.rules)]


class Worlds:
    """All of a team, and for each person what they may see of it."""

    def __init__(self, team: Team, whole: World, seen: dict[str, World]) -> None:
        self.team = team
        self.whole = whole
        self.seen = seen
        self.keys = {known.session_id: known.key for known in whole.store.list_known(LOCAL)}


def name_world(given: tuple[str, int]) -> str:
    return f"{given[0]}-{given[1]}"


@pytest.fixture(scope="module", params=list(product(ENGINES, range(TEAMS))), ids=name_world)
def worlds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    engine, seed = request.param
    folder, team = tmp_path_factory.mktemp("worlds"), Team(seed)
    write_files(folder / "files", team.sessions)
    with ExitStack() as stack:

        def make(name: str, sessions: Sequence[Told]) -> World:
            return stack.enter_context(
                making_world(engine, folder / name, folder / "files", sessions, team.rules)
            )

        yield Worlds(team, make("all", team.sessions), {who: make(who, team.list_seen(who)) for who in OTHERS})


@pytest.mark.parametrize("who", OTHERS)
def test_every_address_answers_as_if_there_were_nothing_else(worlds: Worlds, who: str) -> None:
    addresses = [*list_general(worlds.whole), *list_asked(worlds.team)]
    for told in worlds.team.list_seen(who):
        addresses += list_of_session(worlds, told.id, told)
    assert len(addresses) > 100
    for address in addresses:
        ours, theirs = worlds.whole.get(who, address), worlds.seen[who].get(who, address)
        assert ours.status < 500, (address, ours.body)
        counted = COUNTED | {"id"} if address.endswith(NUMBERED) else COUNTED
        assert tell(ours, counted) == tell(theirs, counted), address


@pytest.mark.parametrize("who", OTHERS)
def test_nothing_hidden_stands_in_any_answer(worlds: Worlds, who: str) -> None:
    hidden = worlds.team.list_hidden(who)
    assert hidden
    names = [name for told in hidden for name in (told.id, told.secret, worlds.keys.get(told.id, told.id))]
    for address in list_general(worlds.whole):
        body = worlds.whole.get(who, address).body.decode()
        assert [name for name in names if name in body] == [], address


@pytest.mark.parametrize("who", OTHERS)
def test_what_is_hidden_is_as_what_is_not_there(worlds: Worlds, who: str) -> None:
    nobody = Told(number=NOBODY, person="ben", project="web")
    for told in worlds.team.list_hidden(who):
        for name in filter(None, (told.id, worlds.keys.get(told.id))):
            missing = nobody.id if name == told.id else "f" * len(name)
            for hidden, absent in zip(
                list_of_session(worlds, name, told), list_of_session(worlds, missing, nobody), strict=True
            ):
                ours, other = worlds.whole.get(who, hidden), worlds.whole.get(who, absent)
                assert (ours.status, without(ours, name)) == (other.status, without(other, missing)), hidden


@pytest.mark.parametrize("who", OTHERS)
def test_nobody_is_told_of_what_they_may_not_see(worlds: Worlds, who: str) -> None:
    bearer = {"Authorization": f"Bearer {worlds.whole.tokens[who]}"}
    hidden = {
        name for told in worlds.team.list_hidden(who) for name in (told.id, worlds.keys.get(told.id, told.id))
    }
    mine = next(told for told in worlds.team.list_seen(who) if told.has_file)
    with listening(worlds.whole.served, headers=bearer) as client:
        beginning = client.read("hello")
        told = list(read_news(client, worlds.keys[mine.id], worlds))
    assert beginning.id is not None
    epoch = beginning.id.partition(":")[0]
    with listening(worlds.whole.served, f"{epoch}:0", headers=bearer) as client:
        told += read_history(client, beginning.seq)
    assert [name for name in hidden if any(name in text for text in told)] == []


def read_news(client: LiveClient, key: str, worlds: Worlds) -> Iterator[str]:
    """Hide a session that is seen and show it again, and yield all that is told until that is."""
    store = worlds.whole.store
    before = find_access(store, LOCAL, key)
    assert before is not None
    other = Visibility.TEAM if before.visibility is Visibility.PRIVATE else Visibility.PRIVATE
    for chosen in (other, before.chosen):
        store.set_visibility(LOCAL, [key], chosen)
    worlds.whole.served.app.live.wake()
    for event in client:
        yield str(event.data)
        if event.name == "change" and event.data["session"] == key and event.data["kind"] == "session-access":
            return


def read_history(client: LiveClient, seq: int) -> Iterator[str]:
    """Yield all that was told up to a place in the feed."""
    for event in client:
        yield str(event.data)
        if event.name == "change" and event.seq >= seq:
            return


def list_general(world: World) -> list[str]:
    """Return all that can be asked without naming anything: every address, and what may follow it."""
    templates = [
        path for path, item in (world.served.app.api.openapi_schema.paths or {}).items() if item.get is not None
    ]
    # What was looked at is not the same in two worlds in which different people looked.
    plain = [
        path
        for path in templates
        if "{" not in path
        and path not in ("/api/live", "/api/search", "/api/export", "/api/export/preview", "/api/audit")
    ]
    assert len(plain) > 10
    return [
        *plain,
        *(f"/api/sessions?sort={order}&limit=5" for order in ("newest", "title", "cost", "tokens")),
        *(
            f"/api/sessions?{asked}"
            for asked in ("person=ben", "person=cleo", "visibility=team", "archived=true")
        ),
        *(
            f"/api/usage?by={by}"
            for by in ("daily", "project", "session", "model", "person", "machine", "tool")
        ),
        *(f"/api/ingest/state?origin={name_machine(person)}" for person in WITH_SESSIONS),
        "/api/search?q=asked",
        "/api/search?q=hook",
        "/api/search?q=-nothing&order=relevance",
        "/api/search?q=person:ben",
        "/api/search?q=-person:cleo",
    ]


def list_asked(team: Team) -> list[str]:
    """Return searches for everything that anybody has, which may be hidden."""
    return [
        f"/api/search?q={asked}"
        for told in team.sessions
        for asked in (told.secret, f"session:{told.id[:8]}", f"file:{told.secret}.py", f"*{told.secret[1:]}")
    ] + [f"/api/sessions?{name}={told.secret}" for told in team.sessions for name in ("text", "project")]


def list_of_session(worlds: Worlds, name: str, told: Told) -> list[str]:
    """Return every address below a session's, with what else it needs to name."""
    given = {
        "id": name,
        "index": "0",
        "message_uuid": f"{told.id[:8]}-0000-4000-9000-{1:012d}",
        "source": name,
        "generation": "0",
        "offset": "0",
        "number": "0",
    }
    schema = worlds.whole.served.app.api.openapi_schema
    below = [
        path
        for path, item in (schema.paths or {}).items()
        if item.get is not None and path.startswith("/api/sessions/{")
    ]
    filled = [re.sub(r"\{(\w+)\}", lambda part: given[part[1]], path) for path in below]
    return [
        *filled,
        f"/api/export?id={name}&format=markdown",
        f"/api/export/preview?id={name}",
        f"/api/links?session={name}",
    ]


def tell(answer: Answer, counted: Collection[str]) -> tuple[int, Any]:
    """Return what an answer says, without what numbers things."""
    if "json" not in answer.headers.get("content-type", ""):
        return answer.status, answer.body
    return answer.status, forget(answer.json, counted)


def forget(value: Any, names: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {name: forget(each, names) for name, each in value.items() if name not in names}
    return [forget(each, names) for each in value] if isinstance(value, list) else value


def without(answer: Answer, name: str) -> bytes:
    """Return what was said, whatever the name was and the request is called."""
    text = answer.body.decode("utf-8", "replace").replace(name, "NAME")
    return re.sub(r'"request_id":"[^"]*"', "", text).encode()
