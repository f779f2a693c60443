"""Links: what strangers see of one session, and that they see nothing else."""

from __future__ import annotations

import json
import random
import re
import string
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from api_archive import Writer, call, picture, say
from live_client import listening
from server_app import Answer
from team_worlds import AT_NS, Told, World, making_world, name_machine, write_files
from turnlog.ingest.pipeline import sync
from turnlog.server.app import build_schema
from turnlog.store.lists import MarkChange
from turnlog.store.model import LOCAL, Visibility
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.hooks import build_delivery

SHOWN = Told(number=1, person="ben", project="web", hooks=1)
OTHER = Told(number=2, person="ben", project="web", chosen=Visibility.TEAM)
PLANTED = "99999999-0000-4000-8000-000000000099"
AGENT = "a0b1c2d3"


class Planted:
    """Secrets of all kinds, and texts that give them away."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        letters, upper = string.ascii_letters + string.digits, string.ascii_uppercase + string.digits
        password, short = f"{self._make(letters, 18)}7", f"x{self._make(letters, 9)}4"
        token, key = f"ghp_{self._make(letters, 36)}", f"sk-ant-api03-{self._make(letters, 40)}"
        amazon, mail = f"AKIA{self._make(upper, 16)}", f"{self._make(string.ascii_lowercase, 9)}@corp{seed}.io"
        user, word = f"u{self._make(string.ascii_lowercase, 8)}", f"Project{self._make(letters, 7)}"
        body = b64encode(self._make(letters, 600).encode()).decode()
        private = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
        account = f"{self._make('0123456789abcdef', 8)}-1111-4111-8111-{self._make('0123456789abcdef', 12)}"
        encoded = b64encode(f"password={short} and api_key={key}".encode()).decode()
        self.word = word
        self.secrets = (password, short, token, key, amazon, mail, user, word, body, account, encoded)
        self.texts = (
            f"export DB_PASSWORD={password} now",
            f"it is {password}, as before",
            f'curl -H "Authorization: Bearer {token}" https://x.test',
            f"the key {key} and {amazon}",
            f"postgres://admin:{short}@db.test/app",
            f"write to {mail} about {word}",
            f"in /home/{user}/work/{word.lower()}.py, -home-{user}-work",
            private,
            f'{{"account_uuid": "{account}"}}',
            f"encoded {encoded}",
            f"{user} knows {short}",
        )

    def pick(self) -> str:
        """Return a text with a few of them."""
        return "\n".join(self._random.sample(self.texts, 4))

    def all(self) -> str:
        return "\n".join(self.texts)

    def _make(self, letters: str, length: int) -> str:
        return "".join(self._random.choice(letters) for _ in range(length))


def plant(folder: Path, planted: Planted) -> None:
    """Write a session with secrets in all places."""
    secret = planted.secrets
    to = Writer(PLANTED, cwd=f"/home/{secret[6]}/work/{planted.word}")
    to.user(planted.all())
    to.user(f"{'long ' * 45}{secret[0]} which is cut in titles")
    to.answer(
        {"type": "thinking", "thinking": planted.pick(), "signature": ""},
        say(planted.pick()),
        call("toolu_1", "Bash", command=planted.pick(), password=secret[0]),
        call("toolu_2", "Write", file_path=f"/home/{secret[6]}/{secret[2]}.txt", content=planted.pick()),
        call("toolu_3", "mcp__vault__get", token=secret[1], **{secret[3]: planted.pick()}),
        call("toolu_4", "Agent", subagent_type=secret[3], description=planted.pick(), prompt=planted.pick()),
    )
    to.result("toolu_1", planted.pick(), toolUseResult={"stdout": planted.pick(), "stderr": secret[0]})
    to.result("toolu_2", [say(planted.pick()), picture(b"no picture")], failed=True)
    to.result("toolu_3", json.dumps({"password": secret[1], "said": planted.pick()}))
    to.result("toolu_4", planted.pick(), toolUseResult={"agentId": AGENT, "status": "completed"})
    to.answer(say(planted.pick()))
    to.raw(
        json.dumps({"type": "custom-title", "customTitle": planted.texts[1], "sessionId": PLANTED}).encode()
        + b"\n"
    )
    to.raw(json.dumps({"type": "summary", "summary": planted.pick(), "leafUuid": "x"}).encode() + b"\n")
    project = folder / "ben" / "projects" / f"-home-{secret[6]}-work"
    (project / PLANTED / "subagents").mkdir(parents=True, exist_ok=True)
    (project / f"{PLANTED}.jsonl").write_bytes(to.data)
    agent = Writer(PLANTED, cwd=f"/home/{secret[6]}/work")
    agent.user(planted.pick(), isSidechain=True, agentId=AGENT)
    agent.answer(
        say(planted.pick()), call("toolu_9", "Read", file_path=secret[4]), isSidechain=True, agentId=AGENT
    )
    agent.result("toolu_9", planted.pick(), isSidechain=True, agentId=AGENT)
    (project / PLANTED / "subagents" / f"agent-{AGENT}.jsonl").write_bytes(agent.data)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, sessions = tmp_path_factory.mktemp("world"), (SHOWN, OTHER)
    write_files(folder / "files", sessions)
    with making_world("sqlite", folder / "home", folder / "files", sessions, ()) as made:
        yield made


def make_link(world: World, session: str, **more: Any) -> Any:
    headers = {"Authorization": f"Bearer {world.tokens['ben']}", "Content-Type": "application/json"}
    body = json.dumps({"session": session, "days": 1, **more}).encode()
    made = world.served.ask("POST", "/api/links", headers, body)
    assert made.status == 201, made.body
    return made.json


def ask(world: World, path: str, method: str = "GET", **headers: str) -> Answer:
    return world.served.ask(method, path, headers)


def list_linked(world: World) -> list[tuple[str, str]]:
    """Return every address that names no more than a session, and what it is asked of another one."""
    found = []
    for path, item in build_schema(world.served.app.api)["paths"].items():
        if "get" in item and path != "/api/live":
            known = {each["name"] for each in item["get"].get("parameters", []) if each["in"] == "query"}
            asked = {"q": "asked", "id": OTHER.id, "session": OTHER.id}
            found.append((path, urlencode({name: asked[name] for name in asked if name in known})))
    return found


def test_a_stranger_sees_one_session_and_nothing_else(world: World) -> None:
    made = make_link(world, SHOWN.id)
    at, key = made["path"], made["link"]["session"]
    me = ask(world, f"{at}/api/me").json
    assert (me["kind"], me["link"]["session"]) == ("link", key)
    detail = ask(world, f"{at}/api/sessions/{key}")
    assert detail.status == 200
    assert (detail.json["session"]["person"], detail.json["session"]["machine"]) == (None, "")
    assert SHOWN.secret in ask(world, f"{at}/api/sessions/{key}/messages").body.decode()
    for path, query in list_linked(world):
        other = re.sub(r"\{(\w+)\}", lambda part: OTHER.id if part[1] == "id" else "0", path)
        answer = ask(world, f"{at}{other}?{query}")
        assert answer.status in (404, 422) or path == "/api/me", path
        assert OTHER.secret not in answer.body.decode(), path
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert ask(world, f"{at}/api/sessions/{key}", method).status == 404


def test_a_stranger_is_no_more_by_being_somebody_else_as_well(world: World) -> None:
    at = make_link(world, SHOWN.id)["path"]
    for headers in (world.served.bearer, world.served.cookie):
        assert ask(world, f"{at}/api/sessions", **headers).status == 404
        assert ask(world, f"{at}/api/sessions/{OTHER.id}", **headers).status == 404
        assert ask(world, f"{at}/metrics", **headers).status == 404


def test_nothing_is_kept_or_indexed_and_the_secret_is_told_nowhere(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    made = make_link(world, SHOWN.id)
    secret = made["path"].removeprefix("/s/")
    with caplog.at_level("DEBUG"):
        answers = [
            ask(world, f"{made['path']}{path}") for path in ("/api/me", "/", "", "/api/none", "/api/sessions")
        ]
    for answer in answers:
        assert answer.headers["x-robots-tag"] == "noindex, nofollow, noarchive"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert secret not in answer.body.decode()
    assert (answers[0].headers["cache-control"], "etag" in answers[0].headers) == ("no-store", False)
    own = [record.getMessage() for record in caplog.records if record.name.startswith("turnlog")]
    assert own
    assert not any(secret in message for message in own)
    assert secret.encode() not in world.served.get("/metrics").body
    assert b"/s/{link}" in world.served.get("/metrics").body


def test_opening_is_counted_and_recorded_once_for_a_visit(world: World) -> None:
    made = make_link(world, SHOWN.id)
    for path in ("/api/me", f"/api/sessions/{SHOWN.id}", f"/api/sessions/{SHOWN.id}/turns"):
        assert ask(world, made["path"] + path).status == 200
    asked = f"/api/links?session={made['link']['session']}"
    [link] = [each for each in world.get("ben", asked).json if each["id"] == made["link"]["id"]]
    assert link["opened"] == 1
    entries = world.get("ben", "/api/audit?action=link-opened").json["entries"]
    [entry] = [each for each in entries if each["link"] == made["link"]["id"]]
    assert (entry["who"], entry["person"], entry["session"]) == (None, "ben", made["link"]["session"])


def test_a_link_ends_at_once_for_those_who_look_just_now_too(world: World) -> None:
    made = make_link(world, SHOWN.id)
    with listening(world.served, path=f"{made['path']}/api/live", headers={}) as client:
        client.read("hello")
        bearer = {"Authorization": f"Bearer {world.tokens['ben']}"}
        assert world.served.ask("DELETE", f"/api/links/{made['link']['id']}", bearer).status == 204
        ended = ask(world, f"{made['path']}/api/me")
        never = ask(world, f"/s/tls_{'x' * 43}/api/me")
        assert (ended.status, ended.body) == (never.status, never.body) == (404, never.body)
        assert all(event.name != "change" for event in client)  # it ends by itself


def test_only_whose_session_it_is_makes_and_ends_links(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.tokens['cleo']}", "Content-Type": "application/json"}

    def post(session: str) -> int:
        body = json.dumps({"session": session}).encode()
        return world.served.ask("POST", "/api/links", headers, body).status

    assert (post(OTHER.id), post(SHOWN.id), post("ffffffff")) == (403, 404, 404)
    made = make_link(world, SHOWN.id)
    assert world.served.ask("DELETE", f"/api/links/{made['link']['id']}", headers).status == 404
    assert world.get("cleo", "/api/links").json == []


@pytest.mark.parametrize("seed", [1, 2])
def test_no_secret_comes_out_of_any_address(world: World, tmp_path: Path, seed: int) -> None:
    planted = Planted(seed)
    plant(tmp_path, planted)
    store, origin = world.store, name_machine("ben")
    before = {known.key for known in store.list_known(LOCAL)}
    sync(store, tmp_path / "turnlog.db", locate_sessions([tmp_path / "ben"]).sessions, origin=origin, workers=1)
    [key] = {known.key for known in store.list_known(LOCAL)} - before
    for number in range(3):
        payload = {"hook_event_name": "PreToolUse", "session_id": PLANTED, "tool_name": "Bash"}
        given = {
            "tool_input": {"command": planted.pick(), "password": planted.secrets[1]},
            "prompt": planted.pick(),
        }
        at_ns = AT_NS + seed * 10 + number
        built = build_delivery(f"{at_ns}-{seed:08d}", at_ns, json.dumps(payload | given).encode())
        fields = {name: getattr(built, name) for name in built.__struct_fields__}
        store.add_deliveries(LOCAL, [type(built)(**fields | {"origin": origin})])
    store.mark(LOCAL, [key], MarkChange(name=planted.texts[1], note=planted.all(), tags=(planted.word,)))
    made = make_link(world, key, words=[planted.word])
    answers = list(ask_all(world, made["path"], key))
    assert len(answers) > 15
    told = "".join(body for _, body in answers)
    assert "[redacted" in told
    for address, body in answers:
        leaked = [each for each in planted.secrets if each.lower() in body.lower()]
        halves = [each for each in planted.secrets[:5] if each[: len(each) // 2 + 2] in body]
        assert (leaked, halves) == ([], []), address
    with listening(world.served, path=f"{made['path']}/api/live", headers={}) as client:
        client.read("hello")
        store.mark(LOCAL, [key], MarkChange(starred=True))
        world.served.app.live.wake()
        event = client.await_change(key)
    assert not any(each in str(event.data) for each in planted.secrets)
    store.forget(LOCAL, [key])


def ask_all(world: World, at: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield what strangers are told, whatever they ask."""
    base, source = f"/api/sessions/{key}", None
    agents = ask(world, f"{at}{base}/agents")
    items = agents.json["items"]
    source = items[0]["source"] if items else None
    paths = ["/api/me", base, *(f"{base}/{each}" for each in ("turns", "tree", "agents", "calls", "actions"))]
    paths += [f"{base}/{each}" for each in ("messages", "timeline", "sidechains", "calls?bodies=true")]
    paths += [f"{base}/messages/{index}/raw" for index in range(3)] + [f"{base}/captures", f"{base}/problems"]
    paths += [f"{base}/{each}?source={source}" for each in ("messages", "timeline", "tree", "calls")]
    chains = ask(world, f"{at}{base}/sidechains").json["items"]
    paths += [f"{base}/sidechains/{each['message_uuid']}" for each in chains]
    for path in [
        *paths,
        f"/api/export?id={key}",
        f"{base}/hook-events",
        f"{base}/access",
        f"{base}/deletion-preview",
    ]:
        answer = ask(world, at + path)
        assert answer.status in (200, 404), (path, answer.body)
        yield path, answer.body.decode("utf-8", "replace")


def test_a_preview_says_what_would_be_shown(world: World, tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {world.tokens['ben']}", "Content-Type": "application/json"}
    body = json.dumps({"session": SHOWN.id, "words": ["asked"]}).encode()
    told = world.served.ask("POST", "/api/links/preview", headers, body).json
    assert (told["calls"], told["tools"], told["files"]) == (1, [["Read", 1]], [f"/{SHOWN.secret}.py"])
    assert told["excerpts"] == [f"{SHOWN.secret} [redacted word 1]"]
    assert ["word", 1] in told["redacted"] or ["word", 2] in told["redacted"]
